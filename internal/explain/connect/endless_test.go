package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/testkit"
)

// flood writes the same bytes until nobody reads them, and returns how many were taken.
func flood(c io.Writer, what []byte) {
	block := bytes.Repeat(what, 1+(64<<10)/len(what))
	for {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// counting counts what a server could send.
type counting struct {
	net.Conn
	sent *int
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	*c.sent += n
	return n, err
}

// pgMessage is the bytes of messages of PostgreSQL's server.
func pgMessage(all ...pgproto3.BackendMessage) (b []byte) {
	for _, m := range all {
		b, _ = m.Encode(b)
	}
	return b
}

// pgGreeting lets a client in.
var pgGreeting = pgMessage(&pgproto3.AuthenticationOk{}, &pgproto3.BackendKeyData{ProcessID: 7,
	SecretKey: []byte{0, 0, 0, 1}})

// pgBegins reads a client's first message, and offers no TLS; nil: the client has gone.
func pgBegins(c io.ReadWriter) *pgproto3.Backend {
	b := pgproto3.NewBackend(c, c)
	for {
		m, err := b.ReceiveStartupMessage()
		if err != nil {
			return nil
		}
		if _, tls := m.(*pgproto3.SSLRequest); !tls {
			return b
		}
		_, _ = c.Write([]byte("N"))
	}
}

// pgAnswers speaks PostgreSQL until a client is in, and answers its first question with bytes, the last of them for
// ever.
func pgAnswers(greeting []byte, answer ...pgproto3.BackendMessage) func(net.Conn) {
	return func(c net.Conn) {
		b := pgBegins(c)
		if b == nil {
			return
		}
		if greeting == nil {
			flood(c, pgMessage(answer...))
			return
		}
		_, _ = c.Write(append(bytes.Clone(greeting), pgMessage(&pgproto3.ReadyForQuery{TxStatus: 'I'})...))
		for {
			switch m, err := b.Receive(); m.(type) {
			case nil:
				_ = err
				return
			case *pgproto3.Sync, *pgproto3.Query:
				_, _ = c.Write(pgMessage(answer[:len(answer)-1]...))
				flood(c, pgMessage(answer[len(answer)-1]))
				return
			}
		}
	}
}

// maria is the bytes of a packet.
func maria(sequence int, body ...byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(sequence)}, body...)
}

// mariaGreets is the greeting of a MariaDB without TLS, which names a method.
func mariaGreets(method string) []byte {
	const capabilities = 0x000fa20f &^ 0x800 // with plugins, without CLIENT_SSL
	b := append([]byte{10}, "10.11.6-MariaDB\x00\x01\x00\x00\x0012345678\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities&0xffff))
	b = append(b, 45, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities>>16))
	b = append(append(b, 21), make([]byte, 10)...)
	return maria(0, append(b, "901234567890\x00"+method+"\x00"...)...)
}

var mariaOK = []byte{0, 0, 0, 2, 0, 0, 0}

// mariaAnswers lets a client in, and answers its first command with bytes, the last of them for ever.
func mariaAnswers(first []byte, then ...byte) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Write(mariaGreets("mysql_native_password"))
		if mariaRead(c) == nil {
			return
		}
		_, _ = c.Write(maria(2, mariaOK...))
		if mariaRead(c) == nil {
			return
		}
		_, _ = c.Write(first)
		flood(c, then)
	}
}

// mariaRead reads a packet's body.
func mariaRead(c io.Reader) []byte {
	head := next(c, 4)
	if head == nil {
		return nil
	}
	return next(c, int(head[0])|int(head[1])<<8|int(head[2])<<16)
}

// What answers at a socket need be no database. Whatever it sends without end, hostlab reads a bounded part of it and
// says so in one line that can be read.
func TestEndless(t *testing.T) {
	t.Parallel()
	const postgres, mysql = "host=127.0.0.1 user=u dbname=d sslmode=disable", "mysql://u@127.0.0.1/"
	column := pgproto3.FieldDescription{Name: []byte("name"), DataTypeOID: 25, TypeModifier: -1}
	begins := []pgproto3.BackendMessage{&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}}
	rows := append(begins[:2:2], &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{column}})
	long := strings.Repeat("x", 1<<16)
	mariaColumn := append([]byte("\x03def\x00\x00\x00\x01n\x00\x0c"), 45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0)
	huge := append([]byte{0xff, 0xff, 0xff, 0}, make([]byte, 1<<20)...)
	for name, c := range map[string]struct {
		dsn   string
		speak func(net.Conn)
	}{
		"parameters while a session begins": {postgres, pgAnswers(nil, &pgproto3.AuthenticationOk{},
			&pgproto3.ParameterStatus{Name: "n", Value: long})},
		"notices while a session begins": {postgres, pgAnswers(nil,
			&pgproto3.NoticeResponse{Severity: "NOTICE", Message: long})},
		"a greeting that is never over": {postgres, pgAnswers(nil, &pgproto3.AuthenticationOk{})},
		"rows": {postgres, pgAnswers(pgGreeting,
			append(rows, &pgproto3.DataRow{Values: [][]byte{[]byte("x")}})...)},
		"rows of nothing": {postgres, pgAnswers(pgGreeting, append(rows, &pgproto3.DataRow{})...)},
		"long rows": {postgres, pgAnswers(pgGreeting,
			append(rows, &pgproto3.DataRow{Values: [][]byte{[]byte(long)}})...)},
		"parameters as an answer": {postgres, pgAnswers(pgGreeting,
			&pgproto3.ParameterStatus{Name: "n", Value: long})},
		"notices as an answer": {postgres, pgAnswers(pgGreeting,
			&pgproto3.NoticeResponse{Severity: "NOTICE", Message: long})},
		"notifications as an answer": {postgres, pgAnswers(pgGreeting,
			&pgproto3.NotificationResponse{Channel: "c", Payload: long})},
		"copied data as an answer": {postgres, pgAnswers(pgGreeting,
			append(begins, &pgproto3.CopyOutResponse{}, &pgproto3.CopyData{Data: []byte(long)})...)},
		"a long error": {postgres, pgAnswers(pgGreeting,
			&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: strings.Repeat("wrong ", 1<<15)})},
		"an error of 3 MB": {postgres, pgAnswers(pgGreeting,
			&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: strings.Repeat("wrong ", 1<<19)})},
		"a message of a gigabyte": {postgres, func(c net.Conn) {
			pgAnswers(pgGreeting,
				&pgproto3.CopyData{Data: make([]byte, 2<<20)})(c)
		}},
		"MariaDB's greeting": {mysql, func(c net.Conn) { flood(c, huge) }},
		"MariaDB's packets":  {mysql, mariaAnswers(nil, huge...)},
		"MariaDB's rows": {mysql, mariaAnswers(bytes.Join([][]byte{maria(1, 1),
			maria(2, mariaColumn...), maria(3, 0xfe, 0, 0, 2, 0)}, nil), maria(4, 1, 'x')...)},
		"MariaDB's columns": {mysql, mariaAnswers(maria(1, 0xfd, 0xff, 0xff, 0xff),
			maria(2, mariaColumn...)...)},
		"a long error of MariaDB": {mysql, mariaAnswers(maria(1,
			append([]byte{0xff, 1, 4, '#', 'H', 'Y', '0', '0', '0'}, strings.Repeat("wrong ", 1<<15)...)...), 0)},
		"an error of 3 MB of MariaDB": {mysql, mariaAnswers(maria(1,
			append([]byte{0xff, 1, 4, '#', 'H', 'Y', '0', '0', '0'}, strings.Repeat("wrong ", 1<<19)...)...), 0)},
		"a greeting that is cut": {mysql, func(c net.Conn) {
			g := mariaGreets("mysql_native_password")
			_, _ = c.Write(maria(0, g[4:30]...))
			_, _ = io.Copy(io.Discard, c)
		}},
		"another method for ever": {mysql, func(c net.Conn) {
			_, _ = c.Write(mariaGreets("mysql_native_password"))
			mariaRead(c)
			flood(c, maria(2, append([]byte{0xfe}, "mysql_native_password\x00"+long...)...))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
			sent, done := 0, make(chan struct{})
			go func() { // of the first client alone
				defer close(done)
				theirs, err := l.Accept()
				if err != nil {
					return
				}
				defer theirs.Close()
				c.speak(counting{theirs, &sent})
			}()
			d := testkit.Must(Parse(c.dsn))(t)
			once := false
			d.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				if once {
					return nil, errors.New("it was left")
				}
				once = true
				return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
			}
			src, err := Open(t.Context(), d)
			if src != nil {
				src.Close()
			}
			l.Close()
			<-done
			if err == nil {
				t.Fatal("it is taken for a database")
			}
			if said := err.Error(); len(said) > 1000 || strings.Contains(said, "\n") {
				t.Errorf("an error of %d bytes: %.300s", len(said), said)
			}
			if sent > 24<<20 {
				t.Errorf("%d MiB were read", sent>>20)
			}
			t.Logf("%d KiB were read: %v", sent>>10, err)
		})
	}
}

// What comes byte by byte has no longer than a whole answer has.
func TestDrip(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"PostgreSQL": "host=127.0.0.1 user=u dbname=d sslmode=disable",
		"MariaDB": "mysql://u@127.0.0.1/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			d, err := Parse(text)
			testkit.OK(t, err)
			d.dial = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
			done := make(chan struct{})
			go func() { // a long message of either, one byte at a time, as fast as they are taken
				defer close(done)
				go func() { _, _ = io.Copy(io.Discard, theirs) }()
				head := []byte{'S', 0, 0, 0xff, 0xff}
				if name == "MariaDB" {
					head = []byte{0xff, 0xff, 0, 0}
				}
				for i := 0; ; i++ {
					b := []byte{'x'}
					if i < len(head) {
						b = head[i : i+1]
					}
					if i > 1000 { // and then nothing more
						return
					}
					if _, err := theirs.Write(b); err != nil {
						return
					}
				}
			}()
			_, err = Open(t.Context(), d)
			ours.Close()
			<-done
			theirs.Close()
			testkit.Fails(t, err, "no answer in time", "said")
		})
	}
}

// upTo ends a flood below the limit of bytes: how far a driver reads ahead must not decide which limit is met.
type upTo struct {
	net.Conn
	sent *int
}

func (u upTo) Write(b []byte) (int, error) {
	if *u.sent > 900<<10 {
		return 0, net.ErrClosed
	}
	return u.Conn.Write(b)
}

// A session that has begun reads no more rows of an answer than its question may have.
func TestRows(t *testing.T) {
	ours, theirs := net.Pipe()
	sent, done := 0, make(chan struct{})
	row := &pgproto3.DataRow{Values: [][]byte{[]byte("x")}}
	go func() {
		defer close(done)
		pgAnswers(pgGreeting, &pgproto3.ParseComplete{}, &pgproto3.BindComplete{},
			&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("n"), DataTypeOID: 25}}},
			row)(upTo{counting{theirs, &sent}, &sent})
		theirs.Close()
	}()
	d := testkit.Must(Parse("host=127.0.0.1 user=u sslmode=disable"))(t)
	d.answer = &answer{}
	d.answer.next(greeting, patience)
	c := d.Postgres.Copy()
	d.dial = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	c.DialFunc = d.network
	conn := testkit.Must(pgx.ConnectConfig(t.Context(), c))(t)
	g := guarded{&postgres.Asker{Conn: conn}, d, patience, 0}
	_, err := g.Ask(t.Context(), explain.Query{Name: "q", SQL: "select 1"})
	if err == nil || !strings.Contains(err.Error(), `the question "q" with more than 10000 rows`) || sent > 1<<20 {
		t.Errorf("%d bytes: %v", sent, err)
	}
	ours.Close()
	<-done
}
