package connect

import (
	"context"
	"database/sql/driver"
	"os"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/explain/postgres"
)

// Vendor is whose server a DSN names: all that differs between them. A new one is a value of
// this type in Vendors.
type Vendor struct {
	Product string   // for people: PostgreSQL
	Form    string   // of its DSNs
	Tried   string   // versions of live servers; "": its reader follows the documentation
	Rights  string   // that watching takes
	Plain   string   // parameter of a DSN that permits plain text
	Checked string   // parameter by which the certificate is checked
	schemes []string // of URLs, its own name first
	// own says where its own clients take a password from, as far as drivers know that; ends
	// in ", or ". password is what they would use where no driver looks for it.
	own      string
	password func() (string, error)
	allow    string // parameter that permits to go on without TLS
	// What to grant to a user who may not watch the server, or not work on it; may be empty.
	watching, working string
	// One of these connects: the second is that of a driver of database/sql, and first are statements that its sessions
	// begin with. Both nil: this program lacks the driver.
	connect   func(ctx context.Context, d *DSN) (explain.Asker, error)
	connector func(d *DSN) (driver.Connector, error)
	first     []string
	kept      explain.Query // says whether the session keeps to those; empty: the server cannot tell
	source    func(ctx context.Context, a explain.Asker, target string, here bool) (explain.Source, error)
	parameter func(ctx context.Context, d *DSN, name string) (Parameter, error) // nil: they cannot be varied
	// tag is the build tag that adds the driver, and size what it adds; "": every program has it. A file with that tag
	// sets connector. Windows has SQL Server's without it.
	tag, size string
}

var (
	Postgres = &Vendor{Product: "PostgreSQL", schemes: []string{"postgres", "postgresql"}, allow: "sslmode=disable",
		Form: "postgres://USER@HOST:5432/DB or key=value as libpq has it", Tried: "13 to 18",
		Rights: "pg_read_all_stats or pg_monitor",
		Plain:  "sslmode=prefer or disable ($PGSSLMODE does not count)", Checked: "sslmode=verify-full",
		watching: "grant pg_monitor to this role",
		working:  "grant CREATE on the database to the user, or with schema=NAME on that schema",
		own:      "~/.pgpass, the file that $PGPASSFILE names, $PGPASSWORD, or ",
		connect:  openPostgres, source: postgres.New, parameter: openPostgresParameter}
	MariaDB = &Vendor{Product: "MariaDB", schemes: []string{"mariadb", "mysql"}, allow: "tls=false",
		Form: "mariadb:// or mysql://USER@HOST/DB (?socket=/PATH)", Tried: "10.11, 11.8", Rights: "PROCESS",
		Plain: "tls=preferred or false", Checked: "tls=true",
		watching: "grant PROCESS on *.* to the user", working: "grant ALL ON `hostlab\\_%`.* to the user",
		own: "~/.my.cnf ([client] password=), $MYSQL_PWD, or ", password: mariaPassword,
		connect: openMariaDB, source: mariadb.New, parameter: openMariaDBParameter}
	sqlServer = &Vendor{Product: "SQL Server", schemes: []string{"sqlserver", "mssql"}, allow: "encrypt=disable",
		Form: "sqlserver://USER@HOST?database=DB", Rights: "VIEW SERVER STATE", Plain: "encrypt=disable",
		Checked:  "encrypt=true",
		own:      "$SQLCMDPASSWORD, or ",
		password: func() (string, error) { return os.Getenv("SQLCMDPASSWORD"), nil }, // sqlcmd's
		first:    []string{"set transaction isolation level read uncommitted", "set lock_timeout 1000"},
		kept:     explain.Query{Name: "kept", SQL: "select case when @@lock_timeout = 1000 then 'true' else 'false' end"},
		source:   newSQLServer, tag: "sqlserver", size: "1.4 MB"}
	oracle = &Vendor{Product: "Oracle", schemes: []string{"oracle"}, allow: "SSL=false",
		Form: "oracle://USER@HOST:1521/SERVICE", Rights: "SELECT_CATALOG_ROLE", Plain: "SSL=false", Checked: "SSL=true",
		first: []string{"set transaction read only"}, source: newOracle, tag: "oracle", size: "18 MB"}
)

// Knows reports that a server of a kind, as package host calls it, has a vendor here.
func Knows(kind string) bool {
	_, known := schemes()[kind]
	return known
}

// Built reports whether this program was built with the vendor's driver.
func (v *Vendor) Built() bool { return v.connect != nil || v.connector != nil }

// Lacking says which drivers this program was built without, and how to build one with them.
func Lacking() string {
	var names, tags []string
	for _, v := range Vendors() {
		if !v.Built() {
			names, tags = append(names, v.Product+" ("+v.size+")"), append(tags, v.tag)
		}
	}
	if names == nil {
		return "All drivers are in this build."
	}
	return "Drivers that are not in this build: " + strings.Join(names, ", ") + ". 'make build TAGS=" +
		strings.Join(tags, ",") +
		"' adds them."
}

func Vendors() []*Vendor { return []*Vendor{Postgres, MariaDB, sqlServer, oracle} }

// Forms are the DSNs that are understood.
func Forms() string {
	var all []string
	for _, v := range Vendors() {
		all = append(all, v.Form)
	}
	return strings.Join(all, ", ")
}

// schemes returns the vendors, by what URLs begin with.
func schemes() map[string]*Vendor {
	out := map[string]*Vendor{}
	for _, v := range Vendors() {
		for _, name := range v.schemes {
			out[name] = v
		}
	}
	return out
}

// String is the vendor's name in DSNs.
func (v *Vendor) String() string { return v.schemes[0] }
