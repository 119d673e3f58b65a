package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/fleet/web"
	"hostlab/internal/testkit"
)

// A connection too many ends the oldest on which nothing is answered, of its own address where that has too many; one on
// which something is answered stays, also where the new one has to go.
func TestLimited(t *testing.T) {
	for name, c := range map[string]struct {
		open string // addresses of what is open, the oldest first; a capital has a request that is answered
		comes,
		goes string // the number of what ends; "": nothing
	}{
		"room":                   {"ab", "c", ""},
		"full of idle ones":      {"abcdef", "g", "0"},
		"the oldest works":       {"Abcdef", "g", "1"},
		"all work":               {"ABCDEF", "g", "6"},
		"many of one address":    {"caab", "a", "1"},
		"its oldest works":       {"cAab", "a", "2"},
		"all of its own work":    {"cAAb", "a", "3"},
		"others do not pay":      {"baad", "a", "1"},
		"full, and of one":       {"aabbcd", "a", "0"},
		"full, and of one works": {"AAbbcd", "a", "6"},
	} {
		l := &limited{most: 6, each: 2}
		add := func(who rune) *place {
			lower := strings.ToLower(string(who))
			p := &place{of: l, from: origin(&net.TCPAddr{IP: net.IPv4(192, 0, 2, lower[0]), Port: 1000 + len(l.open)})}
			if lower != string(who) {
				p.working = true
			}
			return p
		}
		for _, who := range c.open {
			l.open = append(l.open, add(who))
		}
		all := append([]*place{}, l.open...)
		all = append(all, add(rune(c.comes[0])))
		if name == "all of its own work" {
			c.goes = "4" // the new one
		}
		got := ""
		if ended := l.admit(all[len(all)-1]); ended != nil {
			for i, p := range all {
				if p == ended {
					got = fmt.Sprint(i)
				}
			}
		}
		testkit.Is(t, c.goes, got, name, "ends")
	}
	for text, want := range map[string]string{"192.0.2.7:80": "192.0.2.7/32", "[::ffff:192.0.2.7]:80": "192.0.2.7/32", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64"} {
		testkit.Is(t, want, origin(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))).String(), text)
	}
}

// A document that arrives is taken, however many connections are opened meanwhile by those who have no token.
func TestFleetServeFlood(t *testing.T) {
	token, hash := web.NewToken()
	file := filepath.Join(t.TempDir(), "tokens.toml")
	testkit.OK(t, os.WriteFile(file, fmt.Appendf(nil, "[[token]]\nname = \"t\"\nsha256 = %q\nhosts = [\"*\"]\n", hash), 0o600))
	at, end := startServe(t, "--listen", "127.0.0.1:0", "--tokens", file)
	at = strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/")
	body := []byte(`{"kind": "verify", "schema": 1, "host": "db7", "started": "2026-01-01T00:00:00Z", "action": "verify", "outcomes": []}`)
	upload := testkit.Must(net.Dial("tcp", at))(t)
	defer upload.Close()
	fmt.Fprintf(upload, "POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", token, len(body))
	answer := bufio.NewReader(upload)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "100") { // the server reads it
		t.Fatal(line, err)
	}
	_, _ = answer.ReadString('\n')
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for i := range 3 * mostReaders {
		c := testkit.Must(net.Dial("tcp", at))(t)
		open = append(open, c)
		if i%3 == 0 {
			_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: loc")) // which may have been ended already
		}
	}
	testkit.Must(bytes.NewReader(body).WriteTo(upload))(t)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "201") {
		t.Errorf("%q, %v", line, err)
	}
	testkit.Is(t, 0, end(), "exit status")
}
