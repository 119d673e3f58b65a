package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/screen"
)

// Problem is what is wrong with a connection, in one line without a password.
type Problem struct {
	text string
	err  error
}

func (p *Problem) Error() string { return p.text }

// Unwrap keeps what the driver said for errors.Is; it is not printed.
func (p *Problem) Unwrap() error { return p.err }

// Windows' numbers for what the other constants name elsewhere (winsock2.h); the
// constants of Go's package are made up there, and no call returns them.
const (
	wsaAborted = syscall.Errno(10053)
	wsaReset   = syscall.Errno(10054)
	wsaRefused = syscall.Errno(10061)
)

// refusals are how drivers of database/sql tell of a wrong password: MariaDB's number,
// SQL Server's, Oracle's and HANA's words.
var refusals = []string{"Error 1045", "Login failed for user", "ORA-01017", "authentication failed"}

func (d *DSN) refused() string { return "; the password can be in " + d.PasswordPlaces() }

// problem says what the user can do something about. nil stays nil.
func (d *DSN) problem(err error) error {
	if err == nil {
		return nil
	}
	at := d.Target()
	var (
		pg  *pgconn.PgError
		dns *net.DNSError
	)
	text := ""
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &pg):
		text = pg.Message + " (SQLSTATE " + pg.Code + ")"
		switch {
		case pg.Code == "28P01" || pg.Code == "28000":
			text += d.refused()
		case pg.Code == "42501":
			text += "; grant pg_monitor to this role"
		case strings.Contains(pg.Message, "unsupported startup parameter"):
			text += "; a pooler such as pgbouncer does not pass the session's settings on: connect to the server itself"
		// Sessions end with the same code when postmaster is gone; the word is in all
		// translations.
		case pg.Code == "57P01" && strings.Contains(strings.ToLower(pg.Message), "postmaster"):
			text = "the server was killed or crashed: " + text
		case pg.Code == "57P01":
			text = "the server was shut down, or this session ended: " + text
		case pg.Code == "57P02":
			text = "the server starts anew, as one of its processes crashed: " + text
		}
	case d.refusedTLS(err) != "":
		text = NoTLS + "; " + TrustNetwork(d.refusedTLS(err))
	case errors.Is(err, mysql.ErrCleartextPassword): // the driver names a flag that would send it to anybody
		text = "the server asks for the password in clear text, which goes over TLS or a socket alone; " +
			"give the account another method, such as caching_sha2_password or ed25519, or use USER@tcp(HOST:3306)/?tls=true&allowCleartextPasswords=1"
	case errors.As(err, &dns):
		text = "no such host: " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		text = "connection refused: nothing listens there; check host and port"
	case errors.Is(err, os.ErrNotExist):
		text = "there is no such socket; is the server running?"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		text = "no answer in time" + d.perhapsNoTLS()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, wsaReset), errors.Is(err, wsaAborted), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "bad connection"), strings.Contains(err.Error(), "conn closed"), strings.Contains(err.Error(), "invalid connection"):
		text = "the connection broke; the server may have been stopped" + d.perhapsNoTLS()
	default:
		text = err.Error()
		if slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(text, r) }) {
			text += d.refused()
		}
	}
	return &Problem{screen.Clean(strings.Join(strings.Fields(d.clean(at+": "+text)), " ")), err}
}
