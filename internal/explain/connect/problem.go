package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/screen"
)

// Problem is what is wrong with a connection, in one line without a password.
type Problem struct {
	// Named is set where the DSN or the server's rights are wrong, rather than that the
	// server went away or answered no question.
	Named bool
	// Away is set where nothing listens there now, as while a server starts anew.
	Away bool
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

// refusals are how drivers of database/sql tell of a wrong password: SQL Server's
// and Oracle's words.
var refusals = []string{"Login failed for user", "ORA-01017"}

// MariaDB's numbers for a refused password, a missing right, and no such database.
var (
	mariaRefused = []uint16{1045, 1698}
	mariaRights  = []uint16{1044, 1142, 1227}
	mariaNoBase  = []uint16{1049}
)

// clearText is what a server asks for that gets no password.
const clearText = "the server asks for the password in clear text, which goes only through TLS or to the socket of a server that root " +
	"has installed; "

// refused says what lets a user in whom the server refused with these words: where the
// password can be, or who came through the socket as himself, what to type for him.
func (d *DSN) refused(said string) string {
	user, _, _, _ := d.where()
	switch {
	case d.Postgres != nil && strings.Contains(said, "does not exist"):
		return fmt.Sprintf("; its administrator lets this user in by: create role %s login in role pg_monitor",
			pgx.Identifier{user}.Sanitize())
	case d.Postgres != nil && !d.here && strings.Contains(said, "pg_hba.conf"): // the words of all translations name the file
		return "; its administrator adds such a line"
	case !d.here:
		return "; the password can be in " + d.PasswordPlaces()
	case d.Postgres == nil:
		user = "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(user) + "'@localhost"
		method := map[string]string{"mysql": "with auth_socket"}[d.scheme]
		return fmt.Sprintf(
			"; its administrator lets this user in by: create user %s identified %s; grant process on *.* to %[1]s",
			user, cmp.Or(method, "via unix_socket"))
	}
	return fmt.Sprintf("; this line in pg_hba.conf, before others for local, lets this user in: local all %s peer",
		pgx.Identifier{user}.Sanitize())
}

// longest is how much is shown of what a server said, in characters.
const longest = 600

// said is what a server said, as much as can be read, without a password.
func (d *DSN) said(text string) string { return screen.Cut(d.clean(text), longest) }

// Problem says what the user can do something about: a *Problem, or that ctx was cancelled.
// nil stays nil.
func (d *DSN) Problem(err error) error {
	if err == nil {
		return nil
	}
	var (
		pg      *pgconn.PgError
		maria   *mysql.MySQLError
		dns     *net.DNSError
		already *Problem
	)
	text, named, away := "", true, false
	stopped := d.answer.stopped()
	switch {
	case errors.As(err, &already):
		return already
	case stopped != nil:
		err = stopped
	}
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &pg):
		text, named = d.postgres(pg)
	case errors.As(err, &maria):
		text = d.said(maria.Error())
		switch {
		case slices.Contains(mariaRefused, maria.Number):
			text += d.refused(text)
		case slices.Contains(mariaRights, maria.Number) && d.rights != "":
			text += "; " + d.rights
		case !slices.Contains(mariaNoBase, maria.Number):
			named = false
		}
	case asksPassword(err) && d.found != nil:
		text = "the server asks for a password" + d.refused("")
	case asksPassword(err):
		text = clearText + "give the account another method (scram-sha-256), or require TLS (sslmode=verify-full)"
	case d.refusedTLS(err) != "":
		text = "the server offers no TLS, without which others on the network could read the password; " +
			trustNetwork(d.refusedTLS(err))
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, errClear): // the driver names a flag that would send it to anybody
		text = clearText + "give the account another method (ed25519, or mysql_native_password), or use " +
			"USER@tcp(HOST:3306)/?tls=true, with &allowCleartextPasswords=1 for mysql_clear_password"
	case errors.As(err, &dns):
		text = "no such host: " + screen.Short(dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		text, away = "connection refused: nothing listens there; check host and port", true
	case errors.Is(err, os.ErrNotExist):
		text, away = "there is no such socket; is the server running?", true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		text, named = "no answer in time"+d.perhapsNoTLS(), false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, wsaReset), errors.Is(err, wsaAborted), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "bad connection"), strings.Contains(err.Error(), "conn closed"),
		strings.Contains(err.Error(), "invalid connection"):
		text, named = "the connection broke; the server may have been stopped"+d.perhapsNoTLS(), false
	default:
		text = d.said(err.Error())
		if named = slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(text, r) }); named {
			text += d.refused(text)
		}
	}
	return &Problem{named, away, screen.Clean(strings.Join(strings.Fields(d.clean(d.Target()+": "+text)), " ")), err}
}

// postgres says what a PostgreSQL answered.
func (d *DSN) postgres(e *pgconn.PgError) (text string, named bool) {
	text = d.said(e.Message) + " (SQLSTATE " + screen.Short(e.Code) + ")"
	switch {
	case strings.HasPrefix(e.Code, "28"): // invalid_authorization_specification
		return text + d.refused(e.Message), true
	case e.Code == "42501": // insufficient_privilege
		return text + "; " + d.rights, true
	case e.Code == "3D000": // invalid_catalog_name
		return text, true
	case strings.Contains(e.Message, "unsupported startup parameter"):
		return text + "; a pooler such as pgbouncer does not pass the session's settings on: connect to the server itself",
			true
	// Sessions end with the same code when postmaster is gone; the word is in all
	// translations.
	case e.Code == "57P01" && strings.Contains(strings.ToLower(e.Message), "postmaster"):
		text = "the server was killed or crashed: " + text
	case e.Code == "57P01":
		text = "the server was shut down, or this session ended: " + text
	case e.Code == "57P02":
		text = "the server restarts, because one of its processes crashed: " + text
	}
	return text, false
}
