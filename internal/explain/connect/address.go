package connect

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/lazyre"
	"hostlab/internal/trust"
)

// safe is what is wrong with a DSN, without anything of it.
type safe string

func (s safe) Error() string { return string(s) }

// errAddress is a URL that cannot be read, or that splits elsewhere than was meant.
const errAddress = safe(
	"is not a URL that can be read; in a user name or password, characters such as @ / : # ? % have to be " +
		"written as %40 %2F %3A %23 %3F %25, and an @ after the host as %40")

// address reads a URL. Where a password holds a / ? or # as it is, what stands before
// is taken for host and port and the rest for path or parameters: pieces of the
// password would be printed, and looked up as a host. An @ follows in that case, so
// none is taken there. The error is errAddress: url.Error quotes what it was given.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, errAddress
	}
	_, rest, _ := strings.Cut(text, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return nil, errAddress
	}
	return u, nil
}

// passwords are what a URL holds, as one of its user or as a parameter: as written, and as it is
// meant.
func passwords(u *url.URL) (all []string) {
	if password, _ := u.User.Password(); password != "" {
		_, raw, _ := strings.Cut(u.User.String(), ":")
		all = append(all, password, raw)
	}
	// url.Values leaves out what holds a semicolon.
	for _, word := range strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, raw, _ := strings.Cut(word, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if passwordName(name) {
			all = append(all, raw, u.Query().Get(name))
		}
	}
	return all
}

// passwordName is true of what drivers call a password: password, sslpassword, change
// password, pwd.
func passwordName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "password") || strings.Contains(name, "passwd") || name == "pwd"
}

// wordsHavePassword reports whether PostgreSQL's name=value words hold a password.
func wordsHavePassword(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return strings.Contains(text, "password=") || strings.Contains(text, "pwd=")
}

// settings are the server's that a name may set. libpq takes only names it knows; pgx
// passes any on to the server, whose answer quotes them. Both call the database's
// parameters by these.
var settings = []string{"application_name", "client_encoding", "options", "search_path", "timezone"}

// postgresConfig reads a postgres:// URL, which address has accepted, or name=value
// words, with what the environment and files add. TLS is required as requireTLS says.
// Errors that plain accepts hold nothing of the text; pgx's may.
func postgresConfig(text string) (*pgx.ConnConfig, error) {
	if !strings.Contains(text, "://") && ado.MatchString(text) {
		return nil, errADO
	}
	set, err := readSettings(text)
	if err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	for name := range cfg.RuntimeParams {
		if !slices.Contains(settings, name) {
			return nil, errWord
		}
	}
	if cfg, err = requireTLS(cfg, set); err == nil && set.named["require_auth"] == "" {
		opportunistic := slices.ContainsFunc(ways(cfg), func(w *pgconn.FallbackConfig) bool {
			return w.TLSConfig == nil && pgLocal(w.Host, w.Port)
		})
		cfg.AfterNetConnect = pgClear(opportunistic)
	}
	return cfg, err
}

// plain reports whether an error of read or postgresConfig can be printed as it is.
func plain(err error) bool {
	_, refused := errors.AsType[*trust.Refused](err)
	_, is := errors.AsType[safe](err)
	return refused || is
}

// errWord is a name=value word that PostgreSQL's clients do not know.
const errWord = safe(
	"has a parameter that PostgreSQL's clients do not know; they take host, port, user, dbname, passfile, " +
		"service, sslmode, options and the like")

// errADO is a connection string of ADO.NET or ODBC.
const errADO = safe("is a connection string of ADO or ODBC, which hostlab does not read; write it as a URL, such as " +
	"sqlserver://USER@HOST:1433?database=DB or postgres://USER@HOST:5432/DB")

// ado finds how such a string begins. PostgreSQL's clients have none of these words.
var ado = lazyre.New(`(?i)^\s*(server|data ?source|address|addr|initial catalog|driver|provider|uid|user ?id)\s*=`)
