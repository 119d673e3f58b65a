//go:build system

package connect

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(dir, name+".pem")}
	der, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	store(t, a.file, "CERTIFICATE", der)
	return a
}

// certificate makes one that by has signed; nil: itself.
func certificate(t *testing.T, c *x509.Certificate, by *authority) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour),
		time.Now().Add(time.Hour)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))(t)
	return der, key
}

func store(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	testkit.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// tlsPostgres starts PostgreSQL on loopback, which asks for the password s3cr3t of u. It
// offers TLS as db.example, signed by an authority, or none.
func tlsPostgres(t *testing.T, by *authority) (address string) {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bins) == 0 {
		t.Fatal("no PostgreSQL here", err)
	}
	dir := testkit.Must(os.MkdirTemp("", "hostlab-tls-"))(t) // which the account can enter
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	account := testkit.Must(user.Lookup("postgres"))(t)
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	for path, text := range map[string]string{"password": "s3cr3t\n", "cert": "", "key": ""} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	der, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "db.example"},
		DNSNames: []string{"db.example"}}, by)
	store(t, filepath.Join(dir, "cert"), "CERTIFICATE", der)
	private := testkit.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	store(t, filepath.Join(dir, "key"), "PRIVATE KEY", private)
	for _, name := range []string{"", "password", "cert", "key"} {
		testkit.OK(t, os.Chown(filepath.Join(dir, name), uid, gid))
	}
	free := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address = free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	free.Close()
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bins[len(bins)-1], name), args...)
		c.Dir, c.Env = dir, []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
			Pdeathsig: syscall.SIGQUIT}
		return c
	}
	if out, err := command("initdb", "-D", "data", "--no-sync", "-U", "u", "-A", "scram-sha-256", "--pwfile=password",
		"-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	offer := "off"
	if by != nil {
		offer = "on"
	}
	server := command("postgres", "-D", "data", "-c", "ssl="+offer, "-c", "ssl_cert_file="+filepath.Join(dir, "cert"),
		"-c", "ssl_key_file="+filepath.Join(dir, "key"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+port, "-c", "unix_socket_directories=", "-c",
		"dynamic_shared_memory_type=mmap")
	var said bytes.Buffer
	server.Stderr = &said
	testkit.OK(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%v: %s", err, &said)
		}
	}
}

// TestPostgresTLS has a server of another host, by its name: a certificate of the authority
// that was named is taken, of another it is not, nor for another name, and without TLS the
// password stays here.
func TestPostgresTLS(t *testing.T) {
	testkit.Root(t)
	t.Setenv("PGSSLMODE", "")
	dir := t.TempDir()
	ours, others := newAuthority(t, dir, "ours"), newAuthority(t, dir, "others")
	with, without := tlsPostgres(t, ours), tlsPostgres(t, nil)
	for _, c := range []struct {
		name, address, host, mode string
		ca                        *authority
		refused                   string // "": it works
	}{
		{"verified", with, "db.example", "verify-full", ours, ""},
		{"no mode", with, "db.example", "", nil, ""},
		{"another authority", with, "db.example", "verify-full", others, "unknown authority"},
		{"another name", with, "other.example", "verify-full", ours, "other.example"},
		{"no mode, no TLS", without, "db.example", "", nil, "offers no TLS"},
		{"verified, no TLS", without, "db.example", "verify-full", ours, "TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := url.Values{}
			if c.mode != "" {
				q.Set("sslmode", c.mode)
			}
			if c.ca != nil {
				q.Set("sslrootcert", c.ca.file)
			}
			d := testkit.Must(Parse(fmt.Sprintf("postgres://u:s3cr3t@%s/postgres?%s", c.host, q.Encode())))(t)
			var sent bytes.Buffer
			d.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
				return &sending{conn, &sent}, err
			}
			src, err := Open(t.Context(), d)
			if err == nil {
				defer src.Close()
			}
			if startup(sent.Bytes()) || bytes.Contains(sent.Bytes(), []byte("SCRAM")) {
				t.Errorf("the session went on in clear: %q", sent.Bytes())
			}
			switch {
			case c.refused == "" && (err != nil || !strings.HasPrefix(src.Server().Version, "1")):
				t.Error(err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) ||
				strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "s3cr3t")):
				t.Errorf("said %v, expected %q", err, c.refused)
			}
		})
	}
}

// sending keeps what is sent.
type sending struct {
	net.Conn
	sent *bytes.Buffer
}

func (r *sending) Write(b []byte) (int, error) {
	r.sent.Write(b)
	return r.Conn.Write(b)
}
