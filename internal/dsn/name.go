package dsn

import (
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Vendor is whose server a name stands for.
type Vendor string

// The vendors.
const (
	Postgres  Vendor = "postgres"
	MariaDB   Vendor = "mariadb"
	SQLServer Vendor = "sqlserver"
	Oracle    Vendor = "oracle"
	HANA      Vendor = "hdb"
)

// Schemes are the vendors of URLs.
var Schemes = map[string]Vendor{
	"postgres": Postgres, "postgresql": Postgres, "mysql": MariaDB, "mariadb": MariaDB, "sqlserver": SQLServer, "mssql": SQLServer,
	"oracle": Oracle, "hdb": HANA, "hana": HANA,
}

// Name is the name of a server, taken apart.
type Name struct {
	Vendor   Vendor          // empty: not known
	Scheme   string          // of a URL, in small letters; empty: it is none
	URL      *url.URL        // nil: it is none, or has a scheme that is not known
	Postgres *pgx.ConnConfig // of that vendor
	text     string
}

// Read takes a name apart: a URL, or PostgreSQL's name=value words. No error but those that
// Plain refuses holds anything of the name; what was read until then is returned too.
func Read(text string) (n Name, err error) {
	n.text = text
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isURL:
		n.Scheme = strings.ToLower(scheme)
		if n.Vendor = Schemes[n.Scheme]; n.Vendor == "" {
			return n, nil
		}
		if n.URL, err = Address(text); err != nil {
			return n, err
		}
	case strings.Contains(text, "="):
		n.Vendor = Postgres
	}
	if n.Vendor == Postgres {
		n.Postgres, err = PostgresConfig(text)
	}
	return n, err
}

// HasPassword reports whether the name itself holds a password.
func (n Name) HasPassword() bool {
	if n.URL != nil {
		return HasPassword(n.URL)
	}
	return WordsHavePassword(n.text)
}
