package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet/web"
	"hostlab/internal/testkit"
)

// sendLine is what the unit's service types, without the program.
func sendLine(t *testing.T) []string {
	t.Helper()
	unit := testkit.Must(os.ReadFile("../../deploy/systemd/hostlab-send.service"))(t)
	for line := range strings.Lines(strings.ReplaceAll(string(unit), "\\\n", " ")) {
		if line, is := strings.CutPrefix(line, "ExecStart=/usr/bin/hostlab "); is {
			return strings.Fields(line)
		}
	}
	t.Fatal("the unit starts nothing")
	return nil
}

// The line that the service types sends what the assessment's service leaves behind, to a server with TLS and tokens;
// the token is in no argument.
func TestSendService(t *testing.T) {
	dir := t.TempDir()
	token, hash := web.NewToken()
	host := testkit.Must(os.Hostname())(t)
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testkit.OK(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	tokens := write("tokens.toml", fmt.Sprintf("[[token]]\nname = \"x\"\nhosts = [%q]\nsha256 = %q\n[[token]]\nname = "+
		"\"r\"\nread = true\nsha256 = %q\n", host, hash, strings.Repeat("0", 64)))
	cert, key := certificate(t, "localhost")
	store := "sqlite:" + filepath.Join(dir, "fleet.db")
	at, end := startServe(t, "--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--tokens", tokens, "--store",
		store)
	port := strings.TrimSuffix(at[strings.LastIndex(at, ":")+1:], "/")
	now := testkit.Must(json.Marshal(time.Now()))(t)
	write("var/lib/hostlab-assess/verify.json", `{"kind":"verify","schema":1,"started":`+string(now)+
		`,"action":"verify","outcomes":[{"setting":"swappiness","name":"","to":"10","read":"10","result":"unchanged"}]}`)
	latest := `{"kind":"check","schema":1,"version":"1","started":` + string(now) +
		`,"host":"itself","role":"production-db","results":[]}`
	write("var/lib/hostlab-assess/latest.json", latest)
	write("etc/hostlab/fleet.token", token+"\n")
	args := sendLine(t)
	if strings.Contains(strings.Join(args, " "), "Bearer") {
		t.Error("a token is an argument")
	}
	for i, a := range args {
		switch {
		case a == "${HOSTLAB_FLEET}":
			args[i] = "https://localhost:" + port
		case strings.HasPrefix(a, "/"):
			args[i] = dir + a
		}
	}
	send := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := run(t.Context(), args, streams{strings.NewReader(""), &out, &errs})
		return status, out.String() + errs.String()
	}
	if status, said := send(args...); status != exitFailed || !strings.Contains(said, "certificate") {
		t.Errorf("an unknown certificate: status %d, %s", status, said)
	}
	args = append(args, "--ca", cert)
	for _, want := range []string{"new ", "known "} {
		if status, said := send(args...); status != exitOK || strings.Count(said, want) != 2 {
			t.Errorf("status %d, %s", status, said)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(latest))
	testkit.OK(t, errors.Join(err, z.Close()))
	if status, said := send("fleet", "send", "--to", "https://localhost:"+port, "--ca", cert, "--token-file",
		filepath.Join(dir, "etc/hostlab/fleet.token"),
		write("latest.json.gz", packed.String())); status != exitOK || !strings.Contains(said, "known ") {
		t.Errorf("a packed file: status %d, %s", status, said)
	}
	if status, said := send(append(args, "--host", "other")...); status != exitFailed || strings.Contains(said, token) ||
		!strings.Contains(said, "403") {
		t.Errorf("another host's name: status %d, %s", status, said)
	}
	if status, said := send(append(args, "--to", "http://fleet.example:1")...); status != exitUsage ||
		!strings.Contains(said, "by https only") {
		t.Errorf("without TLS: status %d, %s", status, said)
	}
	testkit.OK(t, os.Chmod(filepath.Join(dir, "etc/hostlab/fleet.token"), 0o644))
	if status, said := send(args...); status != exitUsage || !strings.Contains(said, "token") {
		t.Errorf("a token that others may read: status %d, %s", status, said)
	}
	testkit.Is(t, 0, end(), "exit status")
	testkit.Has(t, fleetRun(t, store, "hosts"), host, "the store has")
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
