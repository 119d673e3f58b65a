package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"hostlab/internal/testkit"
)

// a fake is a server on loopback that offers no TLS, and would take a password in clear.
type fake struct {
	addr string
	done sync.WaitGroup

	close func() // no client comes any more
	mu    sync.Mutex
	got   bytes.Buffer
}

// newFake speaks with each client that comes.
func newFake(t *testing.T, speak func(io.ReadWriter)) *fake {
	t.Helper()
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	return serve(t, l, speak)
}

// serve speaks with each client of a listener.
func serve(t *testing.T, l net.Listener, speak func(io.ReadWriter)) *fake {
	t.Helper()
	f := &fake{addr: l.Addr().String()}
	f.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.done.Go(func() {
				defer c.Close()
				speak(struct {
					io.Reader
					io.Writer
				}{io.TeeReader(c, f), c})
			})
		}
	})
	f.close = func() { l.Close(); f.done.Wait() }
	t.Cleanup(f.close)
	return f
}

func (f *fake) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got.Write(b)
}

func (f *fake) bytes() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.got.Bytes())
}

// reach has every host be the fake.
func (f *fake) reach(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", f.addr)
}

// next reads n bytes; nil: the client has gone.
func next(c io.Reader, n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil
	}
	return b
}

// speakPostgres answers N to SSLRequest, and asks for the password in clear.
func speakPostgres(c io.ReadWriter) {
	const sslRequest = 80877103
	for {
		head := next(c, 4)
		if head == nil {
			return
		}
		body := next(c, int(binary.BigEndian.Uint32(head))-4)
		if body == nil {
			return
		}
		if binary.BigEndian.Uint32(body) == sslRequest {
			_, _ = c.Write([]byte("N"))
			continue
		}
		_, _ = c.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // AuthenticationCleartextPassword
		_, _ = io.Copy(io.Discard, c)
		return
	}
}

// speakMySQL greets without CLIENT_SSL, and asks for the password in clear.
func speakMySQL(c io.ReadWriter) {
	const capabilities = 0x000fa20f &^ 0x800 // MySQL 8 without CLIENT_SSL, with plugins
	packet := func(n byte, body []byte) {
		_, _ = c.Write(append([]byte{byte(len(body)), 0, 0, n}, body...))
	}
	b := append([]byte{10}, "8.0.40\x00\x01\x00\x00\x0012345678\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities&0xffff))
	b = append(b, 45, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities>>16))
	b = append(b, 21)
	b = append(b, make([]byte, 10)...)
	b = append(b, "901234567890\x00mysql_native_password\x00"...)
	packet(0, b)
	head := next(c, 4)
	if head == nil || next(c, int(head[0])|int(head[1])<<8) == nil {
		return
	}
	packet(2, []byte("\xfemysql_clear_password\x00"))
	_, _ = io.Copy(io.Discard, c)
}

// speakSQLServer says ENCRYPT_NOT_SUP in its answer to PRELOGIN (MS-TDS 2.2.6.5).
func speakSQLServer(c io.ReadWriter) {
	head := next(c, 8)
	if head == nil || next(c, int(binary.BigEndian.Uint16(head[2:]))-8) == nil {
		return
	}
	options := []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff}
	body := append(options, 16, 0, 0, 0, 0, 0, 2)
	_, _ = c.Write(append([]byte{4, 1, 0, byte(8 + len(body)), 0, 0, 1, 0}, body...))
	_, _ = io.Copy(io.Discard, c)
}

// speakOracle hangs up on what is no CONNECT packet, as a listener for TCP does, and accepts no
// session.
func speakOracle(c io.ReadWriter) {
	if head := next(c, 8); head != nil && head[4] == 1 {
		_, _ = io.Copy(io.Discard, c)
	}
}

// inLogin is a password as SQL Server's clients send it (MS-TDS 2.2.6.4).
func inLogin(password string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(password)) {
		for _, x := range []byte{byte(u), byte(u >> 8)} {
			b = append(b, (x<<4|x>>4)^0xa5)
		}
	}
	return string(b)
}

// TestNoTLS has servers of another host that refuse TLS: they are given no password in
// any form, unless the DSN permits it.
func TestNoTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable") // not about this server
	type server struct {
		dsn   string
		speak func(io.ReadWriter)
		after func(got []byte) bool // the session began
		allow string
		plain string // DSN that permits it
		here  string
	}
	all := []server{
		{"postgres://u:s3cr3t@db.example/d", speakPostgres, startup, "sslmode=disable",
			"postgres://u:s3cr3t@db.example/d?sslmode=prefer", "postgres://u:s3cr3t@localhost/d"},
		{"host=db.example,other.example user=u password=s3cr3t target_session_attrs=any", speakPostgres, startup,
			"sslmode=disable", "host=db.example user=u password=s3cr3t sslmode=allow", "host=127.0.0.1 user=u password=s3cr3t"},
		{"mysql://u:s3cr3t@db.example/", speakMySQL, func(b []byte) bool { return len(b) > 0 }, "tls=false",
			"mysql://u:s3cr3t@db.example/?tls=false", "mysql://u:s3cr3t@[::1]/"},
		{"mariadb://u:s3cr3t@db.example:1/", speakMySQL, func(b []byte) bool { return len(b) > 0 }, "tls=false",
			"mariadb://u:s3cr3t@db.example:1/?tls=preferred", "mysql://u:s3cr3t@localhost/"},
	}
	if sqlServer.Built() { // with -tags=sqlserver, or on Windows
		all = append(all, server{"sqlserver://u:s3cr3t@192.0.2.1", speakSQLServer, login7, "encrypt=disable",
			"sqlserver://u:s3cr3t@192.0.2.1?encrypt=disable", "sqlserver://u:s3cr3t@127.0.0.1?encrypt=disable"},
			server{"sqlserver://u:s3cr3t@127.0.0.1", speakSQLServer, login7, "encrypt=disable",
				"sqlserver://u:s3cr3t@localhost?encrypt=disable", "sqlserver://u:s3cr3t@127.0.0.1:1?encrypt=disable"})
	}
	if oracle.Built() { // with -tags=oracle
		all = append(all, server{"oracle://u:s3cr3t@db.example:1521/S", speakOracle,
			func(b []byte) bool { return bytes.Contains(b, []byte("(SERVICE_NAME=S)")) }, "SSL=false",
			"oracle://u:s3cr3t@db.example:1521/S?SSL=false", "oracle://u:s3cr3t@localhost:1521/S"})
	}
	var tried []string
	for _, c := range all {
		tried = append(tried, c.dsn, c.plain, c.here)
	}
	eachVendor(t, tried)
	for _, c := range all {
		for text, permitted := range map[string]bool{c.dsn: false, c.plain: true, c.here: true} {
			t.Run(strings.ReplaceAll(text, "/", "_"), func(t *testing.T) {
				f := newFake(t, c.speak)
				d, err := Parse(text)
				testkit.OK(t, err)
				d.dial = f.reach
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := Open(ctx, d)
					failed <- err
				}()
				if permitted {
					for !c.after(f.bytes()) {
						select {
						case err := <-failed:
							if !c.after(f.bytes()) {
								t.Fatalf("no session began: %v, after %q", err, f.bytes())
							}
							return
						case <-time.After(5 * time.Millisecond):
						}
					}
					cancel()
					if err := <-failed; err != nil {
						t.Log(err)
					}
					return
				}
				err = <-failed
				got := f.bytes()
				if c.after(got) {
					t.Errorf("the session went on in clear: %q", got)
				}
				for _, form := range []string{"s3cr3t", inLogin("s3cr3t")} {
					if bytes.Contains(got, []byte(form)) {
						t.Errorf("the password was sent: %q", got)
					}
				}
				if err == nil || !strings.Contains(err.Error(), "offers no TLS") ||
					!strings.Contains(err.Error(), "add "+c.allow+" to the DSN") || strings.Contains(err.Error(), "\n") ||
					strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("said: %v", err)
				}
			})
		}
	}
}

// startup reports PostgreSQL's StartupMessage.
func startup(b []byte) bool { return bytes.Contains(b, []byte("user\x00u\x00")) }

// login7 reports SQL Server's LOGIN7 without TLS around it.
func login7(b []byte) bool { return bytes.Contains(b, []byte(inLogin("s3cr3t"))) }

// Oracle's driver is not in all builds: what it is given.
func TestOracleTLS(t *testing.T) {
	for text, want := range map[string]bool{
		"oracle://u:p@db.example:1521/S": true, "oracle://u:p@127.0.0.1:1521/S": false,
		"oracle://u:p@127.0.0.1:1521/S?server=db.example:1521": true,
		"oracle://u:p@db.example:1521/S?SSL=false":             false, "oracle://u:p@db.example:1521/S?ssl=disable": false,
	} {
		d := testkit.Must(Parse(text))(t)
		u, way := d.oracle()
		if got := u.Query().Get("SSL") == "enable"; got != want || way.encrypted != want {
			t.Errorf("%s: %s, %v", text, u.RawQuery, way.encrypted)
		}
	}
}

// What a server sends a session on to is held to what the first host was.
func TestWay(t *testing.T) {
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	c := testkit.Must((&way{here: true}).DialContext(t.Context(), "tcp", l.Addr().String()))(t)
	c.Close()
	testkit.Refused((&way{here: true}).DialContext(t.Context(), "tcp", "192.0.2.1:1"))(t, "another host")
	c = testkit.Must((&way{encrypted: true}).DialContext(t.Context(), "tcp", l.Addr().String()))(t)
	defer c.Close()
	testkit.Refused(c.Write([]byte("s3cr3t")))(t, "", "it spoke in clear")
}

// A server that asks for clear text is told of in our words: the driver's name a flag that helps no further.
func TestCleartext(t *testing.T) {
	for _, text := range []string{"mysql://u:s3cr3t@localhost/", "mysql://u:s3cr3t@db.example/?tls=false"} {
		f := newFake(t, speakMySQL)
		d := testkit.Must(Parse(text))(t)
		d.dial = f.reach
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := Open(ctx, d)
		if err == nil || !strings.Contains(err.Error(), "asks for the password in clear text") ||
			strings.Contains(err.Error(), "DSN") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// eachVendor fails where no DSN is of a vendor whose driver is built in.
func eachVendor(t *testing.T, dsns []string) {
	t.Helper()
	for _, v := range Vendors() {
		of := func(dsn string) bool {
			return slices.ContainsFunc(v.schemes, func(s string) bool { return strings.HasPrefix(dsn, s+"://") })
		}
		if v.Built() && !slices.ContainsFunc(dsns, of) {
			t.Errorf("no case for %s", v.Product)
		}
	}
}
