// Package dsn reads the name of a database server of the user's. A password is never
// part of it, since names are recorded, printed and seen in the list of processes: it
// comes from the environment or from the files that the database's own clients use.
package dsn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"hostlab/internal/trust"
)

// Target is a server. One of Postgres and MariaDB is set.
type Target struct {
	Engine   Vendor
	Postgres *pgx.ConnConfig
	MariaDB  *mysql.Config
}

// Forms says how names are written, for people.
const Forms = "postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST:PORT/DATABASE"

// ErrPassword is a name with a password in it.
var ErrPassword = errors.New("has a password, which would stand in records and lists of processes; leave it out, and put it into PGPASSWORD, ~/.pgpass, MYSQL_PWD or ~/.my.cnf")

// Parse reads postgres:// and mariadb:// (or mysql://) addresses, PostgreSQL's
// name=value words, and the Go driver's user@tcp(host:port)/database. Errors are one
// line and never hold what was given.
func Parse(text string) (Target, error) {
	if !strings.Contains(text, "://") && (strings.Contains(text, "@tcp(") || strings.Contains(text, "@unix(")) {
		cfg, err := mysql.ParseDSN(text)
		switch {
		case err != nil:
			return Target{}, unreadable()
		case cfg.Passwd != "" || WordsHavePassword(text):
			return Target{}, ErrPassword
		}
		protect(cfg)
		return mariadb(cfg)
	}
	n, err := Read(text)
	switch {
	case n.Scheme != "" && n.Vendor != Postgres && n.Vendor != MariaDB:
		return Target{}, fmt.Errorf("starts with neither postgres:// nor mariadb://; write it as %s", Forms)
	case n.Vendor == "":
		return Target{}, unreadable()
	case n.HasPassword() && !errors.Is(err, ErrAddress):
		return Target{}, ErrPassword
	case err != nil && !Plain(err):
		return Target{}, unreadable()
	case err != nil:
		return Target{}, err
	case n.Vendor == Postgres:
		return Target{Engine: Postgres, Postgres: n.Postgres}, nil
	}
	cfg, err := MariaDBConfig(n.URL)
	if err != nil {
		return Target{}, err
	}
	return mariadb(cfg)
}

func unreadable() error { return errors.New("cannot be read; write it as " + Forms) }

// tlsValues are what the Go driver takes, by what is written.
var tlsValues = []string{"true", "skip-verify", "preferred", "false"}

// MariaDBConfig reads a mariadb:// or mysql:// URL, which Address has accepted. The
// password is the URL's. TLS is required as for PostgreSQL.
func MariaDBConfig(u *url.URL) (*mysql.Config, error) {
	cfg, q := mysql.NewConfig(), u.Query()
	for name := range q {
		if name != "socket" && name != "tls" {
			return nil, errors.New("has a parameter that is not known here; it takes socket and tls")
		}
	}
	cfg.User, cfg.DBName, cfg.Net, cfg.Addr = u.User.Username(), strings.Trim(u.Path, "/"), "tcp", u.Host
	cfg.Passwd, _ = u.User.Password()
	switch {
	case q.Get("socket") != "":
		cfg.Net, cfg.Addr = "unix", q.Get("socket")
	case u.Hostname() == "":
		cfg.Addr = "localhost:3306"
	case u.Port() == "":
		cfg.Addr = strings.TrimSuffix(u.Host, ":") + ":3306"
	}
	if cfg.TLSConfig = q.Get("tls"); cfg.TLSConfig != "" && !slices.Contains(tlsValues, cfg.TLSConfig) {
		return nil, errors.New("has a tls= that is not known; it takes " + strings.Join(tlsValues, ", "))
	}
	protect(cfg)
	return cfg, nil
}

// mariadb adds what MariaDB's own clients would take from elsewhere.
func mariadb(cfg *mysql.Config) (_ Target, err error) {
	cfg.Passwd, err = MariaDBPassword()
	return Target{Engine: MariaDB, MariaDB: cfg}, err
}

// MariaDBPassword is what MariaDB's own clients would use: that of $MYSQL_PWD, else of
// ~/.my.cnf; empty: none. An error is a *trust.Refused.
func MariaDBPassword() (string, error) {
	if p := os.Getenv("MYSQL_PWD"); p != "" {
		return p, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil //nolint:nilerr // no home, no file in it
	}
	return optionFile(filepath.Join(home, ".my.cnf"))
}

// optionFile is the password in the group [client] of an option file; empty: none.
func optionFile(path string) (string, error) {
	f, err := trust.OpenRegular(path)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return "", refused
	}
	if err != nil {
		return "", nil
	}
	defer f.Close()
	group, password := "", ""
	for lines := bufio.NewScanner(io.LimitReader(f, 1<<20)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			group = line
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && (group == "[client]" || group == "[client-mariadb]") && strings.TrimSpace(name) == "password" {
			password = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	if password == "" {
		return "", nil
	}
	return password, trust.Secret(f)
}

// String names the server for people, without anything secret.
func (t Target) String() string {
	if c := t.Postgres; c != nil {
		return fmt.Sprintf("PostgreSQL at %s:%d, database %s, as %s", c.Host, c.Port, c.Database, c.User)
	}
	if c := t.MariaDB; c != nil {
		return fmt.Sprintf("MariaDB at %s, as %s", c.Addr, c.User)
	}
	return "no server"
}
