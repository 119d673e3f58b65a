package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/trust"
)

// OwnForms are the names that ParseOwn understands.
const OwnForms = "postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST:PORT/DATABASE"

// ErrPassword is a name with a password in it.
var ErrPassword = errors.New(
	"has a password, which would stand in records and lists of processes; leave it out, and put it " +
		"into PGPASSWORD, ~/.pgpass, MYSQL_PWD or ~/.my.cnf")

// ParseOwn reads the name of a server that a workload uses: of PostgreSQL or MariaDB, as a
// DSN without a password, or in the words of MariaDB's driver, user@tcp(host:port)/database.
// Errors are one line and never hold what was given. A password comes from the environment
// or from the files that the database's own clients use.
func ParseOwn(text string) (*DSN, error) {
	if !strings.Contains(text, "://") && (strings.Contains(text, "@tcp(") || strings.Contains(text, "@unix(")) {
		cfg, err := mysql.ParseDSN(text)
		switch {
		case err != nil:
			return nil, unreadable()
		case cfg.Passwd != "" || wordsHavePassword(text):
			return nil, ErrPassword
		}
		protect(cfg)
		d := &DSN{Vendor: MariaDB, text: text, driver: cfg, rights: MariaDB.working}
		_, err = d.MariaDBConfig()
		return d, err
	}
	d, err := read(text)
	switch {
	case d.scheme != "" && d.Vendor != Postgres && d.Vendor != MariaDB:
		return nil, fmt.Errorf("starts with neither postgres:// nor mariadb://; write it as %s", OwnForms)
	case d.Vendor == nil:
		return nil, unreadable()
	case d.HasPassword() && !errors.Is(err, errAddress):
		return nil, ErrPassword
	case err != nil && !plain(err):
		return nil, unreadable()
	case err == nil && d.Vendor == MariaDB:
		_, err = d.MariaDBConfig()
	}
	d.rights = d.Vendor.working
	return d, err
}

func unreadable() error { return errors.New("cannot be read; write it as " + OwnForms) }

// tlsValues are what the Go driver takes, by what is written.
var tlsValues = []string{"true", "skip-verify", "preferred", "false"}

// MariaDBConfig returns how to connect to a MariaDB or MySQL, with the password of its own
// clients where the DSN has none. TLS is required as for PostgreSQL.
func (d *DSN) MariaDBConfig() (cfg *mysql.Config, err error) {
	if cfg = d.driver; cfg == nil {
		if cfg, err = d.mariaURL(); err != nil {
			return nil, err
		}
	}
	switch {
	case d.found != nil && d.trusted:
		cfg.Passwd = d.found.password
	case d.found == nil && cfg.Passwd == "":
		cfg.Passwd, err = d.elsewhere()
	}
	password := cfg.Passwd
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return d.unclear(ctx, network, address, password)
	}
	return cfg, err
}

func (d *DSN) mariaURL() (*mysql.Config, error) {
	cfg, u, q := mysql.NewConfig(), d.url, d.url.Query()
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

// mariaPassword is what MariaDB's own clients would use: that of $MYSQL_PWD, else of
// ~/.my.cnf; empty: none. An error is a *trust.Refused.
func mariaPassword() (string, error) {
	if p := os.Getenv("MYSQL_PWD"); p != "" {
		return p, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil //nolint:nilerr // no home, no file in it
	}
	_, password, err := optionFile(filepath.Join(home, ".my.cnf"))
	return password, err
}

// optionFile is the user and the password in the group [client] of an option file; empty: none.
func optionFile(path string) (user, password string, err error) {
	f, err := trust.OpenRegular(path)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return "", "", refused
	}
	if err != nil {
		return "", "", nil
	}
	defer f.Close()
	group := ""
	for lines := bufio.NewScanner(io.LimitReader(f, 1<<20)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			group = line
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || group != "[client]" && group != "[client-mariadb]" {
			continue
		}
		switch value = strings.Trim(strings.TrimSpace(value), `"'`); strings.TrimSpace(name) {
		case "user":
			user = value
		case "password":
			password = value
		}
	}
	if password == "" {
		return user, "", nil
	}
	return user, password, trust.Secret(f)
}
