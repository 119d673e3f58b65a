package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// served is a watch that listens to an address; it returns where, as HOST:PORT.
func served(t *testing.T, listen string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w, at, err := (&watchOptions{interval: time.Second, listen: listen}).open(ctx, host.Tree{}, io.Discard)
	testkit.OK(t, err)
	t.Cleanup(func() { w.Close() })
	u := testkit.Must(url.Parse(at))(t)
	return u.Host
}

// request sends a request as it is written, and returns the status.
func request(t *testing.T, at, method, named string) int {
	t.Helper()
	c := testkit.Must(net.Dial("tcp", at))(t)
	defer c.Close()
	testkit.Must(fmt.Fprintf(c, "%s / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, named))(t)
	r := testkit.Must(http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method}))(t) //nolint:bodyclose // it is, below
	r.Body.Close()
	return r.StatusCode
}

// A page whose name leads to this host all at once (DNS rebinding) reads nothing.
func TestWatchHost(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		at := strings.Replace(served(t, listen), "0.0.0.0", "127.0.0.1", 1)
		for named, want := range map[string]int{
			at: 200, "localhost": 200, "LOCALHOST:80": 200, "[::1]:9750": 200, "127.0.0.1": 200,
			"evil.example": 421, "evil.example:9750": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "192.0.2.1": 421, "": 421,
		} {
			testkit.Is(t, want, request(t, at, "GET", named), listen, "Host", named)
		}
		for method, want := range map[string]int{"HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405} {
			testkit.Is(t, want, request(t, at, method, "localhost"), method)
		}
	}
}

// Neither idle connections of another user, nor half a header on each of many, keep a scrape waiting.
func TestWatchLimit(t *testing.T) {
	at := served(t, "127.0.0.1:0")
	for name, c := range map[string]struct {
		count int
		text  string
	}{
		"idle":          {16, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		"half a header": {40, "GET / HTTP/1.1\r\nHost: loc"},
		"silent":        {40, ""},
	} {
		for range c.count {
			conn := testkit.Must(net.Dial("tcp", at))(t)
			defer conn.Close()
			testkit.Must(conn.Write([]byte(c.text)))(t)
		}
		testkit.Is(t, http.StatusOK, request(t, at, "GET", "localhost"), name)
	}
}

// TestWatchEndsEarly: who is interrupted learns what the record holds; without an end to come, that is no interruption.
func TestWatchEndsEarly(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for want, o := range map[string]*watchOptions{"": {record: "r.jsonl"}, "interrupted": {count: 9},
		"interrupted; r.jsonl holds the samples until then": {count: 9, record: "r.jsonl"}} {
		if _, got := outcome(o.done(ctx)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
