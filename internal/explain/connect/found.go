package connect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// found is a server that nobody named: a process of this host that is called like one, which any user may start. It is
// asked without a password, as the account whom its socket file knows. It gets one only if it wants one, and if its
// socket and its account are root's or of the vendor's packages, and its program too: so says the kernel of the
// connection itself.
type found struct {
	pid      int
	file     string // of its socket
	password string // that the vendor's clients would use; "": none
	as       *DSN   // the same server with the user that goes with the password; nil: as without
	doubt    error  // why it is not trusted, by the last connection; nil: it is
}

// errKeptBack is a password that was not given to what was found.
var errKeptBack = errors.New("it gets no password")

// Doubt is why the server, which was found, gets no password, as a clause; "": it may get one, or it was named.
func (d *DSN) Doubt() string {
	if d.found == nil || d.found.doubt == nil {
		return ""
	}
	return fmt.Sprintf(
		"process %d was found and is not trusted with a password: %s; name the server with --dsn if it is yours", d.found.pid,
		d.found.doubt)
}

// attempts are the ways in which the server is asked, the first first. Without a password comes first, unless that
// goes with another user.
func (d *DSN) attempts() []*DSN {
	plain := *d
	if d.found == nil || d.found.password == "" {
		return []*DSN{&plain}
	}
	with := plain
	if d.found.as == nil {
		with.trusted = true
		return []*DSN{&plain, &with}
	}
	with = *d.found.as
	with.found, with.dial, with.trusted = d.found, d.dial, true
	with.hide(d.found.password)
	return []*DSN{&with, &plain}
}

// wantsSecret reports a server that refuses who comes without a password, or with a wrong one.
func wantsSecret(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "28") // invalid_authorization_specification
	}
	maria, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(mariaRefused, maria.Number) || asksPassword(err)
}

// asksPassword reports PostgreSQL's question for a password where none may be sent. pgx has no error value for it.
func asksPassword(err error) bool { return strings.Contains(err.Error(), "require_auth") }
