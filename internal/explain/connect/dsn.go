// Package connect opens what a DSN names, with a session that reads only, and keeps
// its password to itself.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/dsn"
	"hostlab/internal/spelling"
	"hostlab/internal/trust"
)

// Forms are the DSNs that are understood.
const Forms = "postgres://USER@HOST:5432/DB, mysql://USER@HOST/DB, mariadb://, sqlserver://, oracle://USER@HOST/SERVICE, hdb://, or PostgreSQL's key=value"

// Vendor is whose server a DSN names.
type Vendor string

// The vendors.
const (
	Postgres  Vendor = "postgres"
	MariaDB   Vendor = "mariadb"
	SQLServer Vendor = "sqlserver"
	Oracle    Vendor = "oracle"
	HANA      Vendor = "hdb"
)

var schemes = map[string]Vendor{
	"postgres": Postgres, "postgresql": Postgres, "mysql": MariaDB, "mariadb": MariaDB, "sqlserver": SQLServer, "mssql": SQLServer,
	"oracle": Oracle, "hdb": HANA, "hana": HANA,
}

// DSN is a data source name that was understood. It prints without its password.
type DSN struct {
	Vendor Vendor
	text   string
	url    *url.URL        // nil for key=value
	pg     *pgx.ConnConfig // of PostgreSQL
	secret []string        // all forms in which the password might appear

	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network; for tests
	way  *way                                                                 // of the drivers that have one
}

// Parse reads a DSN. No error quotes it, as it may hold a password.
func Parse(text string) (*DSN, error) {
	text = strings.TrimSpace(text)
	scheme, _, isURL := strings.Cut(text, "://")
	d := &DSN{text: text, Vendor: Postgres}
	if isURL {
		v, ok := schemes[strings.ToLower(scheme)]
		if !ok {
			known := make([]string, 0, len(schemes))
			for s := range schemes {
				known = append(known, s)
			}
			slices.Sort(known)
			hint := ""
			if near := spelling.Meant(strings.ToLower(scheme), known); near != "" {
				hint = "; did you mean " + near + "://?"
			}
			return nil, fmt.Errorf("the DSN begins with a scheme that is not known%s; it takes %s", hint, Forms)
		}
		d.Vendor = v
		u, err := dsn.Address(text)
		if err != nil {
			return nil, fmt.Errorf("the DSN %w", err)
		}
		d.url = u
		if pw, ok := u.User.Password(); ok {
			d.hide(pw)
			if _, raw, ok := strings.Cut(u.User.String(), ":"); ok {
				d.hide(raw)
			}
		}
		for k, v := range u.Query() {
			if strings.Contains(strings.ToLower(k), "password") {
				d.hide(v...)
			}
		}
	} else if !strings.Contains(text, "=") {
		return nil, fmt.Errorf("the DSN is neither a URL nor key=value; it takes %s", Forms)
	}
	if d.Vendor == Postgres {
		c, err := dsn.PostgresConfig(d.text)
		refused, isRefused := errors.AsType[*trust.Refused](err)
		switch {
		case err == nil:
		case isRefused:
			return nil, refused
		case dsn.Plain(err):
			return nil, fmt.Errorf("the DSN %w", err)
		default:
			return nil, errors.New("the DSN cannot be used: " + d.clean(pgReason(err, d.text)))
		}
		d.hide(c.Password)
		d.pg = c
		return d, nil
	}
	if d.url.Host == "" && d.url.Query().Get("socket") == "" {
		return nil, fmt.Errorf("the DSN names no host, as in %s://USER@HOST", d.Vendor)
	}
	return d, nil
}

// pgReason is why pgx refuses a DSN, without what it quotes of it.
func pgReason(err error, text string) string {
	inner := err
	for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
		inner = e
	}
	reason := inner.Error()
	if before, after, ok := strings.Cut(reason, "`: "); ok && strings.HasPrefix(before, "cannot parse `") {
		reason = after
	}
	if strings.Contains(reason, text) {
		return "it is not key=value"
	}
	if strings.Contains(reason, "missing \"=\"") { // which quotes a word, maybe of a password
		return "a word in it has no =; a value with spaces stands in quotes, as in dbname='my data'"
	}
	return reason
}

func (d *DSN) hide(words ...string) {
	for _, w := range words {
		if w != "" && !slices.Contains(d.secret, w) {
			d.secret = append(d.secret, w, url.QueryEscape(w), url.PathEscape(w))
		}
	}
}

// HasPassword reports whether the DSN itself holds one.
func (d *DSN) HasPassword() bool {
	if d.url != nil {
		return dsn.HasPassword(d.url)
	}
	return dsn.WordsHavePassword(d.text)
}

// PasswordPlaces says where the password can stand, other than on a command line, which
// everyone on the host can see: where the vendor's own clients take it from, as far as
// they have such a place that drivers know, and for all in a whole DSN.
func (d *DSN) PasswordPlaces() string {
	own := ""
	switch d.Vendor {
	case Postgres:
		own = "~/.pgpass, the file that $PGPASSFILE names, $PGPASSWORD, or "
	case MariaDB:
		own = "~/.my.cnf ([client] password=), $MYSQL_PWD, or "
	case SQLServer:
		own = "$SQLCMDPASSWORD, or "
	}
	return own + "a DSN from a file (--dsn-file) or $HOSTLAB_DSN"
}

// elsewhere is the password where a DSN has none: that of the vendor's own clients. It
// does not show from then on. An error is a *trust.Refused.
func (d *DSN) elsewhere() (password string, err error) {
	switch d.Vendor {
	case MariaDB:
		password, err = dsn.MariaDBPassword()
	case SQLServer:
		password = os.Getenv("SQLCMDPASSWORD") // sqlcmd's
	}
	d.hide(password)
	return password, err
}

// clean takes the password out of a text.
func (d *DSN) clean(s string) string {
	s = strings.ReplaceAll(s, d.text, "the DSN")
	for _, w := range d.secret {
		if len(w) >= 3 || strings.Contains(s, ":"+w+"@") {
			s = strings.ReplaceAll(s, w, "xxxxx")
		}
	}
	return s
}

// Target says where it goes: host, port, database and user.
func (d *DSN) Target() string {
	if d.pg != nil {
		return target(d.pg.User, d.pg.Host, fmt.Sprint(d.pg.Port), d.pg.Database)
	}
	db := strings.Trim(d.url.Path, "/")
	if n := d.url.Query().Get("database"); n != "" {
		db = n
	}
	host := d.url.Hostname()
	if s := d.url.Query().Get("socket"); s != "" {
		host = s
	}
	return target(d.url.User.Username(), host, d.url.Port(), db)
}

func (d *DSN) String() string { return d.Target() }

// GoString keeps %#v from printing what is inside.
func (d *DSN) GoString() string { return d.Target() }

func target(user, host, port, db string) string {
	s := host
	if port != "" && !strings.HasPrefix(host, "/") {
		s = net.JoinHostPort(host, port)
	}
	if user != "" {
		s = user + " at " + s
	}
	if db != "" {
		s += ", database " + db
	}
	return s
}

// local reports whether a host name is this host's.
func local(host string) bool {
	if host == "" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		name, err := os.Hostname()
		return err == nil && strings.EqualFold(host, name)
	}
	if ip.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
