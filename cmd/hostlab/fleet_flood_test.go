package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/fleet/web"
	"hostlab/internal/testkit"
)

// A document that arrives is taken, however many connections are opened meanwhile by those who have no token.
func TestFleetServeFlood(t *testing.T) {
	token, hash := web.NewToken()
	file := filepath.Join(t.TempDir(), "tokens.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "[[token]]\nname = \"t\"\nsha256 = %q\nhosts = [\"*\"]\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if status := end(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
