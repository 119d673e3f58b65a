package connect

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"hostlab/internal/testkit"
)

// ofRoot is a password that nobody but root knows.
const ofRoot = "s3cr3t-of-root"

// secrets puts a password where PostgreSQL's and MariaDB's clients look for one.
func secrets(t *testing.T, user string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	my := "[client]\npassword=" + ofRoot + "\n"
	if user != "" {
		my += "user=" + user + "\n"
	}
	for name, text := range map[string]string{".my.cnf": my, ".pgpass": "*:*:*:*:" + ofRoot + "\n",
		".pg_service.conf": "[s]\npassword=" + ofRoot + "\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
}

// listens has a fake listen on a socket file, and keeps what it is sent.
func listens(t *testing.T, file string, speak func(io.ReadWriter)) *fake {
	t.Helper()
	l := testkit.Must(net.Listen("unix", file))(t)
	return serve(t, l, speak)
}

// pgAsks asks for a password in some way, whatever it was sent.
func pgAsks(way pgproto3.BackendMessage) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		if pgBegins(c) == nil {
			return
		}
		_, _ = c.Write(pgMessage(way))
		_, _ = io.Copy(io.Discard, c)
	}
}

// mariaAsks asks for a password by a method, at once or by switching to it, and then for all that it may ask for.
func mariaAsks(greets, switches string, more ...byte) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		_, _ = c.Write(mariaGreets(greets))
		if mariaRead(c) == nil {
			return
		}
		sequence := 2
		if switches != "" {
			_, _ = c.Write(maria(sequence, append([]byte{0xfe}, switches+"\x00"+strings.Repeat("x",
				map[bool]int{true: 32, false: 20}[switches == "client_ed25519"])+"\x00"...)...))
			if mariaRead(c) == nil {
				return
			}
			sequence += 2
		}
		if more != nil {
			_, _ = c.Write(maria(sequence, more...))
			if mariaRead(c) == nil {
				return
			}
			sequence += 2
		}
		_, _ = c.Write(maria(sequence, append([]byte{0xff, 0x15, 4}, "#28000Access denied"...)...))
		_, _ = io.Copy(io.Discard, c)
	}
}

var askPostgres = map[string]pgproto3.BackendMessage{
	"in clear": &pgproto3.AuthenticationCleartextPassword{},
	"by MD5":   &pgproto3.AuthenticationMD5Password{Salt: [4]byte{1, 2, 3, 4}},
	"by SCRAM": &pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}},
}

// fullAuthentication is what asks for the password itself, where a scramble does not suffice.
var fullAuthentication = []byte{1, 4}

var askMariaDB = map[string]func(io.ReadWriter){
	"in clear":                        mariaAsks("mysql_native_password", "mysql_clear_password"),
	"in clear at once":                mariaAsks("mysql_clear_password", ""),
	"in full":                         mariaAsks("caching_sha2_password", "", fullAuthentication...),
	"in full after a switch":          mariaAsks("mysql_native_password", "caching_sha2_password", fullAuthentication...),
	"by a key of its own":             mariaAsks("sha256_password", ""),
	"by a key of its own by a switch": mariaAsks("mysql_native_password", "sha256_password"),
	"by its scramble":                 mariaAsks("mysql_native_password", ""),
	"by a signature":                  mariaAsks("mysql_native_password", "client_ed25519"),
}

// A process that listens like a database, and whose program is none of the vendor's, gets nothing that comes from a
// password, by whatever method it asks. One line says which process it is, and why it is not trusted.
func TestUntrusted(t *testing.T) {
	for _, from := range []string{"files", "the environment", "a service"} {
		for kind, asks := range map[string]map[string]func(io.ReadWriter){"postgresql": {}, "mariadb": askMariaDB,
			"mysql": askMariaDB} {
			if kind == "postgresql" {
				for name, m := range askPostgres {
					asks[name] = pgAsks(m)
				}
			}
			for name, speak := range asks {
				t.Run(from+"/"+kind+"/"+name, func(t *testing.T) {
					reach := func() ([]byte, error) {
						file := filepath.Join(t.TempDir(), map[bool]string{true: ".s.PGSQL.5432",
							false: "mysql.sock"}[kind == "postgresql"])
						f := listens(t, file, speak)
						defer os.Remove(file)
						d := testkit.Must(Here(kind, os.Getpid()))(t)
						_, err := Open(t.Context(), d)
						f.close()
						words := bytes.Split(f.bytes(), []byte{0}) // PostgreSQL's parameters come in any order
						slices.SortFunc(words, bytes.Compare)
						return bytes.Join(words, []byte{0}), err
					}
					t.Setenv("HOME", t.TempDir())
					without, _ := reach()
					switch from {
					case "files":
						secrets(t, "")
					case "a service":
						secrets(t, "")
						t.Setenv("PGSERVICE", "s")
					case "the environment":
						t.Setenv("PGPASSWORD", ofRoot)
						t.Setenv("MYSQL_PWD", ofRoot)
					}
					with, err := reach()
					if !bytes.Equal(with, without) {
						t.Errorf("it was sent %q, and of one who has no password %q", with, without)
					}
					want := fmt.Sprintf("process %d was found and is not trusted with a password: it runs ", os.Getpid())
					if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ofRoot) ||
						strings.Contains(err.Error(), "\n") {
						t.Errorf("said %v", err)
					}
				})
			}
		}
	}
}

// A server that nobody named is asked without a password first, and one that lets us in so is not told any.
func TestFoundWithoutPassword(t *testing.T) {
	secrets(t, "monitor")
	file := filepath.Join(t.TempDir(), ".s.PGSQL.5432")
	f := listens(t, file, func(c io.ReadWriter) {
		b := pgBegins(c)
		if b == nil {
			return
		}
		_, _ = c.Write(append(bytes.Clone(pgGreeting), pgMessage(&pgproto3.ReadyForQuery{TxStatus: 'I'})...))
		_, _ = b.Receive()
	})
	d := testkit.Must(Here("postgresql", os.Getpid()))(t)
	_, err := Open(t.Context(), d)
	if got := f.bytes(); !bytes.Contains(got, []byte("pg_backend_pid")) || bytes.Contains(got, []byte(ofRoot)) {
		t.Errorf("%v; it was sent %q", err, got)
	}
	testkit.Has(t, d.Doubt(), "process "+strconv.Itoa(os.Getpid())+" was found")
}

// What has taken the place of the socket since the process was found is not spoken to.
func TestReplacedSocket(t *testing.T) {
	secrets(t, "")
	file := filepath.Join(t.TempDir(), "my.sock")
	f := listens(t, file, speakMySQL)
	d := testkit.Must(Here("mariadb", os.Getpid()))(t)
	d.found.pid = os.Getppid() // as if another listened
	_, err := Open(t.Context(), d)
	if got := f.bytes(); len(got) > 0 {
		t.Errorf("it was sent %q", got)
	}
	if want := fmt.Sprintf("process %d answers at its socket", os.Getpid()); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("said %v, want %q", err, want)
	}
}

// A server that was named gets no password in clear, nor under a key that it has just sent, unless TLS is asked for, or
// the other end is known to be one that root has installed.
func TestClear(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	check := func(name, text string, speak func(io.ReadWriter)) {
		f := newFake(t, speak)
		d, err := Parse(text)
		testkit.OK(t, err)
		d.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := f.reach(ctx, network, address)
			return struct{ net.Conn }{c}, err // of whom nothing is known
		}
		_, err = Open(t.Context(), d)
		if got := f.bytes(); bytes.Contains(got, []byte(ofRoot)) {
			t.Errorf("%s: it was sent %q", name, got)
		}
		if err == nil || !strings.Contains(err.Error(), "asks for the password in clear text") &&
			!strings.Contains(err.Error(), "Access denied") {
			t.Errorf("%s: said %v", name, err)
		}
	}
	check("PostgreSQL", "postgres://u:"+ofRoot+"@127.0.0.1/d", pgAsks(askPostgres["in clear"]))
	check("PostgreSQL elsewhere", "postgres://u:"+ofRoot+"@db.example/d?sslmode=disable", pgAsks(askPostgres["in clear"]))
	for name, speak := range askMariaDB {
		if strings.Contains(name, "clear") || strings.Contains(name, "full") || strings.Contains(name, "key") {
			check(name, "mysql://u:"+ofRoot+"@127.0.0.1/", speak)
			check(name+" elsewhere", "mysql://u:"+ofRoot+"@db.example/?tls=false", speak)
		}
	}
}

// TLS that anybody on this host could offer is no reason to send a password in clear. Where the DSN requires it, its
// user has chosen so.
func TestClearInTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // has a certificate
	web.Close()
	for mode, sends := range map[string]bool{"": false, "prefer": false, "require": true} {
		got := make(chan string, 4) // what came through TLS
		f := newFake(t, func(c io.ReadWriter) {
			if m, _ := pgproto3.NewBackend(c, c).ReceiveStartupMessage(); m == nil {
				return
			} else if _, asks := m.(*pgproto3.SSLRequest); !asks {
				_, _ = c.Write(pgMessage(askPostgres["in clear"]))
				_, _ = io.Copy(io.Discard, c)
				return
			}
			_, _ = c.Write([]byte("S"))
			secured := tls.Server(piped{c}, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
			if _, err := pgproto3.NewBackend(secured, secured).ReceiveStartupMessage(); err != nil {
				return
			}
			_, _ = secured.Write(pgMessage(askPostgres["in clear"]))
			b := make([]byte, 100)
			n, _ := secured.Read(b)
			got <- string(b[:n])
		})
		text := "postgres://u:" + ofRoot + "@127.0.0.1/d"
		if mode != "" {
			text += "?sslmode=" + mode
		}
		d, err := Parse(text)
		testkit.OK(t, err)
		d.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := f.reach(ctx, network, address)
			return struct{ net.Conn }{c}, err
		}
		_, err = Open(t.Context(), d)
		testkit.Is(t, sends, strings.Contains(<-got, ofRoot), "sslmode=", mode, "it was sent", err)
		if bytes.Contains(f.bytes(), []byte(ofRoot)) {
			t.Errorf("sslmode=%s: it went without TLS", mode)
		}
	}
}

// piped is a connection of a fake.
type piped struct{ io.ReadWriter }

func (piped) Close() error                     { return nil }
func (piped) LocalAddr() net.Addr              { return nil }
func (piped) RemoteAddr() net.Addr             { return nil }
func (piped) SetDeadline(time.Time) error      { return nil }
func (piped) SetReadDeadline(time.Time) error  { return nil }
func (piped) SetWriteDeadline(time.Time) error { return nil }

// A server may ask the driver for files of this host (LOAD DATA LOCAL). It gets none.
func TestFilesStayHere(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, []byte(ofRoot), 0o600))
	for _, text := range []string{"mysql://u@127.0.0.1/", "u@tcp(127.0.0.1:3306)/?allowAllFiles=true"} {
		f := newFake(t, func(c io.ReadWriter) {
			_, _ = c.Write(mariaGreets("mysql_native_password"))
			mariaRead(c)
			_, _ = c.Write(maria(2, mariaOK...))
			mariaRead(c)
			_, _ = c.Write(maria(1, append([]byte{0xfb}, file...)...))
			_, _ = io.Copy(io.Discard, c)
		})
		d := testkit.Must(ParseOwn(text))(t)
		d.dial = f.reach
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := Open(ctx, d)
		cancel()
		if got := f.bytes(); err == nil || bytes.Contains(got, []byte(ofRoot)) {
			t.Errorf("%s: %v; it was sent %q", text, err, got)
		}
	}
}
