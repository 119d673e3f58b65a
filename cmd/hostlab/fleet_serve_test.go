package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet/web"
	"hostlab/internal/testkit"
)

// startServe runs fleet serve; it returns where, and what ends it with its exit status.
func startServe(t *testing.T, args ...string) (at string, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	status := make(chan int, 1)
	args = append([]string{"fleet", "serve", "--store", "sqlite:" + filepath.Join(t.TempDir(), "fleet.db")}, args...)
	go func() {
		status <- run(ctx, args, streams{strings.NewReader(""), in, io.Discard})
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v, exit status %d", err, <-status)
	}
	end = func() int { cancel(); return <-status }
	t.Cleanup(func() { cancel() })
	return strings.TrimSpace(line[strings.Index(line, "http"):]), end
}

// pageStatus asks for a page under a name, with a password where there is one, and returns the status.
func pageStatus(t *testing.T, client *http.Client, url, named, password string) int {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	r.Host = named
	if password != "" {
		r.SetBasicAuth("", password)
	}
	resp, err := client.Do(r)
	testkit.OK(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// Asked to end, serve ends well. A page of elsewhere cannot read it through the browser of this host (DNS rebinding).
func TestFleetServe(t *testing.T) {
	at, end := startServe(t, "--listen", "127.0.0.1:0")
	for named, want := range map[string]int{"localhost": 200, "127.0.0.1:9753": 200, "evil.example": 421} {
		testkit.Is(t, want, pageStatus(t, http.DefaultClient, at, named, ""), "Host", named)
	}
	testkit.Is(t, 0, end(), "exit status")
}

// certificate writes a certificate for a name, and its key.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private))(t)
	secret := testkit.Must(x509.MarshalPKCS8PrivateKey(private))(t)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		testkit.OK(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// Other hosts read by TLS and with a token, under the names of the certificate.
func TestFleetServeTLS(t *testing.T) {
	cert, key := certificate(t, "fleet.example")
	token, hash := web.NewToken()
	file := filepath.Join(t.TempDir(), "tokens.toml")
	testkit.OK(t, os.WriteFile(file, []byte("[[token]]\nname = \"r\"\nread = true\nsha256 = \""+hash+"\"\n"),
		0o600))
	at, end := startServe(t, "--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--tokens", file)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its own
	at = strings.Replace(at, "0.0.0.0", "127.0.0.1", 1)
	for _, c := range []struct {
		named, password string
		want            int
	}{{"fleet.example", token, 200}, {"fleet.example:9753", token, 200}, {"fleet.example", "", 401},
		{"fleet.example", token[1:], 401}, {"evil.example", token, 421}} {
		testkit.Is(t, c.want, pageStatus(t, client, at, c.named, c.password), "Host", c.named, "password", c.password)
	}
	// A token that is put into the file works without a restart, and one that is taken out does not any more. A file
	// that cannot be used changes nothing.
	other, hash := web.NewToken()
	for _, c := range []struct {
		content string
		want    map[string]int
	}{{"[[token]]\nname = \"s\"\nread = true\nsha256 = \"" + hash + "\"\n", map[string]int{other: 200, token: 401}},
		{"[[token]]\nname = 1", map[string]int{other: 200, token: 401}}} {
		testkit.OK(t, os.WriteFile(file, []byte(c.content), 0o600))
		time.Sleep(1100 * time.Millisecond) // it looks once a second
		for password, want := range c.want {
			testkit.Is(t, want, pageStatus(t, client, at, "fleet.example", password), c.content, "password", password)
		}
	}
	client.CloseIdleConnections()
	testkit.Is(t, 0, end(), "exit status")
}
