package connect

import (
	"context"
	"os"

	"hostlab/internal/explain"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/explain/postgres"
)

// Vendor is whose server a DSN names: all that differs between them. A new one is a value of
// this type and an entry in schemes.
type Vendor struct {
	Product string   // for people: PostgreSQL
	schemes []string // of URLs, its own name first
	// own says where its own clients take a password from, as far as drivers know that; ends
	// in ", or ". password is what they would use where no driver looks for it.
	own      string
	password func() (string, error)
	allow    string // parameter that permits to go on without TLS
	// What to grant to a user who may not watch the server, or not work on it; may be empty.
	watching, working string
	open              func(ctx context.Context, d *DSN) (explain.Source, error)
}

// The vendors.
var (
	Postgres = &Vendor{Product: "PostgreSQL", schemes: []string{"postgres", "postgresql"}, allow: "sslmode=disable",
		watching: "grant pg_monitor to this role", working: "grant CREATE on the database to the user, or with schema=NAME on that schema",
		own: "~/.pgpass, the file that $PGPASSFILE names, $PGPASSWORD, or ",
		open: func(ctx context.Context, d *DSN) (explain.Source, error) {
			a, err := d.openPostgres(ctx)
			if err != nil {
				return nil, err
			}
			s, err := postgres.New(ctx, a, d.Target(), d.Local())
			return source(a, s, err)
		}}
	MariaDB = &Vendor{Product: "MariaDB", schemes: []string{"mariadb", "mysql"}, allow: "tls=false",
		watching: "grant PROCESS on *.* to the user", working: "grant ALL ON `hostlab\\_%`.* to the user",
		own: "~/.my.cnf ([client] password=), $MYSQL_PWD, or ", password: mariaPassword,
		open: func(ctx context.Context, d *DSN) (explain.Source, error) {
			a, err := d.openMariaDB(ctx)
			if err != nil {
				return nil, err
			}
			s, err := mariadb.New(ctx, a, d.Target(), d.Local())
			return source(a, s, err)
		}}
	sqlServer = &Vendor{Product: "SQL Server", schemes: []string{"sqlserver", "mssql"}, allow: "encrypt=disable",
		own:      "$SQLCMDPASSWORD, or ",
		password: func() (string, error) { return os.Getenv("SQLCMDPASSWORD"), nil }, // sqlcmd's
		open: func(ctx context.Context, d *DSN) (explain.Source, error) {
			c, err := d.sqlServerConnector()
			return views(ctx, d, c, err, newSQLServer, "set transaction isolation level read uncommitted", "set lock_timeout 1000")
		}}
	oracle = &Vendor{Product: "Oracle", schemes: []string{"oracle"}, allow: "SSL=false",
		open: func(ctx context.Context, d *DSN) (explain.Source, error) {
			u, way := d.oracle()
			c, err := oracleConnector(u.String(), way)
			return views(ctx, d, c, err, newOracle, "set transaction read only")
		}}
	hana = &Vendor{Product: "SAP HANA", schemes: []string{"hdb", "hana"}, allow: "encrypt=false",
		open: func(ctx context.Context, d *DSN) (explain.Source, error) {
			c, err := d.hanaConnector()
			return views(ctx, d, c, err, newHANA, "set transaction read only")
		}}
)

// schemes returns the vendors, by what URLs begin with.
func schemes() map[string]*Vendor {
	out := map[string]*Vendor{}
	for _, v := range []*Vendor{Postgres, MariaDB, sqlServer, oracle, hana} {
		for _, name := range v.schemes {
			out[name] = v
		}
	}
	return out
}

// String is the vendor's name in DSNs.
func (v *Vendor) String() string { return v.schemes[0] }

// source closes the asker of a source that could not be made.
func source[S explain.Source](a explain.Asker, s S, err error) (explain.Source, error) {
	if err != nil {
		_ = a.Close() // what went wrong before counts
		return nil, err
	}
	return s, nil
}
