package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// slow begins a document that does not end, and returns once the server reads it.
func slow(t *testing.T, url, token string, begun []byte) (end func()) {
	t.Helper()
	out, in := io.Pipe()
	reads := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reads) }})
	r := testkit.Must(http.NewRequestWithContext(ctx, http.MethodPost, url, out))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Expect", "100-continue")
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}).Do(r)
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-reads
	testkit.Must(in.Write(begun))(t)
	return func() { _ = in.Close() }
}

// Documents that arrive slowly hold up nobody, neither hosts of other tokens nor of their own.
func TestSlowPosts(t *testing.T) {
	list, sent := tokens(t, `hosts = ["*"]`, `hosts = ["*"]`)
	url := serving(t, Config{Tokens: func() Tokens { return list }}).URL + "/v1/documents"
	for range 4 * mostPosts {
		defer slow(t, url, sent[0], []byte("{"))()
	}
	for i, token := range sent {
		host := "host" + string(rune('a'+i))
		if got, text := post(t, url, token, bytes.NewReader(assessment(host, "text", now))); got != http.StatusCreated {
			t.Errorf("token %d: %d %s", i, got, text)
		}
	}
}

// A token has a quarter of the room for documents that arrive, and what one has is free again when it ends.
func TestRoom(t *testing.T) {
	list, sent := tokens(t, `hosts = ["*"]`, `hosts = ["*"]`)
	s := testkit.Must(New(Config{Store: opened(t), Tokens: func() Tokens { return list }, Now: func() time.Time { return now },
		Version: "test"}))(t)
	body := assessment("hosta", "text", now)
	n := int64(len(body))
	s.bodies.most, s.bodies.each = 5*n, 2*n
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	url := web.URL + "/v1/documents"
	taken := func(bytes int64) {
		t.Helper()
		for { // the server counts what it has read
			s.bodies.mu.Lock()
			all := s.bodies.all
			s.bodies.mu.Unlock()
			if all == bytes {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	first := slow(t, url, sent[0], bytes.Repeat([]byte(" "), int(n)))
	second := slow(t, url, sent[0], bytes.Repeat([]byte(" "), int(n)-1))
	taken(2*n - 1)
	if got, text := post(t, url, sent[0], bytes.NewReader(body)); got != http.StatusServiceUnavailable ||
		!strings.Contains(text, "too many documents come at once") {
		t.Errorf("a third of the same token: %d %s", got, text)
	}
	if got, text := post(t, url, sent[1], bytes.NewReader(body)); got != http.StatusCreated {
		t.Errorf("of another token: %d %s", got, text)
	}
	first()
	second()
	taken(0)
	if got, text := post(t, url, sent[0], bytes.NewReader(body)); got != http.StatusOK {
		t.Errorf("afterwards: %d %s", got, text)
	}
	if len(s.bodies.by)+len(s.turns.by) > 0 {
		t.Errorf("left are %v and %v", s.bodies.by, s.turns.by)
	}
}

// One document of a token is taken at a time, and so many of all tokens.
func TestTurns(t *testing.T) {
	s := testkit.Must(New(Config{}))(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var leave []func()
	for _, name := range []string{"a", "b", "c", "d"} {
		go_, ok := s.turn(t.Context(), name)
		if !ok {
			t.Fatal(name)
		}
		leave = append(leave, go_)
	}
	for _, name := range []string{"a", "e"} {
		if _, ok := s.turn(over, name); ok {
			t.Errorf("%s has a place of %d beside those of others", name, mostPosts)
		}
	}
	leave[1]()
	if _, ok := s.turn(over, "a"); ok {
		t.Error("a has two")
	}
	if again, ok := s.turn(t.Context(), "e"); !ok {
		t.Error("e has none where one is free")
	} else {
		again()
	}
	for _, i := range []int{0, 2, 3} {
		leave[i]()
	}
	if len(s.turns.by) > 0 || len(s.posts) > 0 {
		t.Errorf("left are %v", s.turns.by)
	}
}
