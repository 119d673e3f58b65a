// Package connect opens what a DSN names, with a session that reads only, and keeps
// its password to itself.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// DSN is a data source name that was understood. It prints without its password.
type DSN struct {
	Vendor   *Vendor
	Postgres *pgx.ConnConfig // of that vendor

	text   string
	scheme string        // of a URL, in small letters; empty: it is none
	url    *url.URL      // nil for key=value
	driver *mysql.Config // in the words of MariaDB's driver
	rights string        // what grant its user may lack
	here   bool          // from Here: through the socket, as the user who asks
	secret []string      // all forms in which the password might appear

	found *found // from Here; nil: it was named
	// the password goes to what was found, if that is trusted
	trusted bool
	dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network
	way     *way                                                                 // of the drivers that have one
	// of a session; nil: its answers have no bound
	answer *answer
}

// Parse reads a DSN. No error quotes it, as it may hold a password.
func Parse(text string) (*DSN, error) {
	d, err := read(strings.TrimSpace(text))
	switch {
	case d.Vendor == nil && d.scheme == "":
		return nil, fmt.Errorf("the DSN is neither a URL nor key=value; it takes %s", Forms())
	case d.Vendor == nil:
		hint := ""
		if near := screen.Meant(d.scheme, slices.Sorted(maps.Keys(schemes()))); near != "" {
			hint = "; did you mean " + near + "://?"
		}
		return nil, fmt.Errorf("the DSN begins with an unknown scheme%s; it takes %s", hint, Forms())
	}
	if d.url != nil {
		d.hide(passwords(d.url)...)
	}
	refused, isRefused := errors.AsType[*trust.Refused](err)
	switch {
	case isRefused:
		return nil, refused
	case err != nil && plain(err):
		return nil, fmt.Errorf("the DSN %w", err)
	case err != nil:
		return nil, errors.New("the DSN cannot be used: " + d.clean(pgReason(err, d.text)))
	case d.Postgres == nil && d.url.Host == "" && d.url.Query().Get("socket") == "":
		return nil, fmt.Errorf("the DSN names no host, as in %s://USER@HOST", d.Vendor)
	}
	d.rights = d.Vendor.watching
	return d, nil
}

// read takes a DSN apart: a URL, or PostgreSQL's name=value words. No error but those that
// plain refuses holds anything of it; what was read until then is returned too.
func read(text string) (d *DSN, err error) {
	d = &DSN{text: text}
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isURL:
		d.scheme = strings.ToLower(scheme)
		if d.Vendor = schemes()[d.scheme]; d.Vendor == nil {
			return d, nil
		}
		if d.url, err = address(text); err != nil {
			return d, err
		}
	case strings.Contains(text, "="):
		d.Vendor = Postgres
	}
	if d.Vendor == Postgres {
		if d.Postgres, err = postgresConfig(text); err == nil {
			d.hide(d.Postgres.Password)
		}
	}
	return d, err
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
		return len(passwords(d.url)) > 0
	}
	return wordsHavePassword(d.text)
}

// PasswordPlaces says where the password can stand, other than on a command line, which
// everyone on the host can see: where the vendor's own clients take it from, as far as
// they have such a place that drivers know, and for all in a whole DSN.
func (d *DSN) PasswordPlaces() string {
	return d.Vendor.own + "a DSN from a file (--dsn-file) or $HOSTLAB_DSN"
}

// elsewhere is the password where a DSN has none: that of the vendor's own clients. It
// does not show from then on. An error is a *trust.Refused.
func (d *DSN) elsewhere() (password string, err error) {
	if d.Vendor.password != nil {
		password, err = d.Vendor.password()
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

// where takes it apart; host may be the path of a socket.
func (d *DSN) where() (user, host, port, db string) {
	switch {
	case d.Postgres != nil:
		return d.Postgres.User, d.Postgres.Host, fmt.Sprint(d.Postgres.Port), d.Postgres.Database
	case d.driver != nil && d.driver.Net == "unix":
		return d.driver.User, d.driver.Addr, "", d.driver.DBName
	case d.driver != nil:
		host, port, _ = net.SplitHostPort(d.driver.Addr)
		return d.driver.User, host, port, d.driver.DBName
	}
	q := d.url.Query()
	host, db = cmp.Or(q.Get("socket"), d.url.Hostname()), cmp.Or(q.Get("database"), strings.Trim(d.url.Path, "/"))
	return d.url.User.Username(), host, d.url.Port(), db
}

// Target says where it goes: host, port, database and user.
func (d *DSN) Target() string {
	user, s, port, db := d.where()
	if port != "" && !strings.HasPrefix(s, "/") {
		s = net.JoinHostPort(s, port)
	}
	if user != "" {
		s = user + " at " + s
	}
	if db != "" {
		s += ", database " + db
	}
	return s
}

func (d *DSN) String() string { return d.Target() }

// GoString keeps %#v from printing what is inside.
func (d *DSN) GoString() string { return d.Target() }

// Local reports whether the DSN names a server of this host.
func (d *DSN) Local() bool {
	_, host, _, _ := d.where()
	return local(host)
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
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}
