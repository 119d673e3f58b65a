//go:build system

package client

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/explain/connect"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// shortDir is one whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("", "hl"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// remote is a server that stands for the user's: its address, and what it holds.
type remote struct {
	engine, dsn string
	precious    string // the table's name in its words
	exec        func(sql string)
	schemas     func() []string
}

func remotes(t *testing.T) []remote {
	t.Helper()
	pg := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: shortDir(t)}))(t)
	t.Cleanup(func() { pg.Close() })
	conn := testkit.Must(pg.Connect(t.Context()))(t)
	maria, err := privatedb.Start(t.Context(), privatedb.MariaDB,
		privatedb.Config{Parent: shortDir(t), LogBytes: 32 << 20})
	testkit.OK(t, err)
	t.Cleanup(func() { maria.Close() })
	db := testkit.Must(maria.Open())(t)
	t.Cleanup(func() { db.Close() })
	list := func(rows interface {
		Next() bool
		Scan(...any) error
	}) (out []string) {
		for rows.Next() {
			var s string
			testkit.OK(t, rows.Scan(&s))
			out = append(out, s)
		}
		return out
	}
	return []remote{
		{inPostgres, "host=" + pg.SocketDir() + " port=5432 user=" + privatedb.Role + " dbname=" + privatedb.Postgres,
			"table foreign_data.precious", func(sql string) {
				testkit.Must(conn.Exec(t.Context(), sql))(t)
			}, func() []string {
				rows, err := conn.Query(t.Context(),
					"SELECT nspname || '.' || coalesce(relname, '') FROM pg_namespace n LEFT JOIN pg_class c ON relnamespace = n.oid AND relkind = 'r' "+
						"WHERE nspname !~ '^(pg_|information_schema)' ORDER BY 1")
				testkit.OK(t, err)
				defer rows.Close()
				return list(rows)
			}},
		{inMariaDB, "mariadb://hostlab@/?socket=" + maria.SocketDir() + "/mariadb.sock", "precious", func(sql string) {
			testkit.Must(db.Exec(sql))(t)
		}, func() []string {
			var rows *sql.Rows
			rows, err := db.Query("SELECT concat(schema_name, '.', coalesce(table_name, '')) FROM information_schema.schemata LEFT JOIN information_schema.tables ON table_schema = schema_name " +
				"WHERE schema_name NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY 1")
			testkit.OK(t, err)
			defer rows.Close()
			return list(rows)
		}},
	}
}

// On a server of the user's only what was made is dropped, and what others have is
// refused.
func TestRemote(t *testing.T) {
	for _, r := range remotes(t) {
		t.Run(r.engine, func(t *testing.T) {
			r.exec("CREATE SCHEMA foreign_data")
			r.exec("CREATE TABLE foreign_data.precious (n integer)")
			r.exec("CREATE SCHEMA empty_one")
			before := r.schemas()
			for _, name := range []string{"", "empty_one", "hostlab_new"} {
				given := map[string]any{"engine": r.engine, "dsn": r.dsn, "schema": name}
				for _, w := range []workload.Workload{Copy{}, Delete{}} {
					s := begin(t, w, given)
					got, err := s.Run(t.Context(), workload.Request{Params: values(t, w, given), Seed: 5})
					if err != nil {
						t.Fatalf("schema %q: %v", name, err)
					}
					if got.Missing["db_cpu"] == "" || !(got.Values["commit_wait"] > 0) {
						t.Errorf("schema %q: %+v", name, got)
					}
					// The server is of this host, so that its kernel tells what the session took.
					if v := got.Values; !(v["part_cpu"] > 0) || got.Missing["part_run_queue"] != "" ||
						v["part_unexplained"] > 0.8*v["duration"] {
						t.Errorf("schema %q: the session's CPU time: %+v", name, got)
					}
					if diff := cmp.Diff(before, r.schemas()); diff == "" {
						t.Error("nothing was made")
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					testkit.Is(t, "", cmp.Diff(before, r.schemas()), "schema", name, "left behind (-before +after)")
				}
			}
			_, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{},
				map[string]any{"engine": r.engine, "dsn": r.dsn, "schema": "foreign_data"}), Work: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), "holds data of others ("+r.precious+")") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("foreign data: %v", err)
			}
			// What somebody put into our schema meanwhile stays.
			given := map[string]any{"engine": r.engine, "dsn": r.dsn, "schema": "hostlab_shared"}
			s, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{}, given), Work: t.TempDir()})
			testkit.OK(t, err)
			r.exec("CREATE TABLE hostlab_shared.theirs (n integer)")
			testkit.Fails(t, s.Close(), "theirs", "a table of others")
			if got := strings.Join(r.schemas(), " "); !strings.Contains(got, "hostlab_shared.theirs") ||
				strings.Contains(got, "zclient") {
				t.Error(got)
			}
		})
	}
}

// Objects that are in no list of tables keep a schema from being taken, too.
func TestOddObjects(t *testing.T) {
	r := remotes(t)[0]
	for name, text := range map[string]string{
		"collation":            "CREATE COLLATION %s.odd FROM \"C\"",
		"conversion":           "CREATE CONVERSION %s.odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8",
		"operator":             "CREATE OPERATOR %s.### (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4pl)",
		"text search":          "CREATE TEXT SEARCH CONFIGURATION %s.odd (COPY = pg_catalog.simple)",
		"type":                 "CREATE DOMAIN %s.odd AS integer",
		"function":             "CREATE FUNCTION %s.odd() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
		"nothing, with rights": "ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT SELECT ON TABLES TO PUBLIC",
	} {
		schema := "odd_" + strings.NewReplacer(" ", "_", ",", "").Replace(name)
		r.exec("CREATE SCHEMA " + schema)
		r.exec(fmt.Sprintf(text, schema))
		s, err := Copy{}.Open(t.Context(), workload.Config{Params: values(t, Copy{},
			map[string]any{"dsn": r.dsn, "schema": schema}), Work: t.TempDir()})
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if strings.HasPrefix(name, "nothing") {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "holds data of others ("+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOutside(t *testing.T) {
	t.Setenv("PGPASSWORD", "s3cr3t")
	given := map[string]any{"dsn": "postgres://ann@db.example/erp"}
	if got := (Copy{}).Outside(values(t, Copy{}, given)); !strings.Contains(got, "db.example") ||
		strings.Contains(got, "s3cr3t") {
		t.Error(got)
	}
	testkit.Is(t, "", (Copy{}).Outside(values(t, Copy{}, nil)))
}

// Whether a session's number is one of this host's is a matter of the connection and of
// the process's name.
func TestAccount(t *testing.T) {
	for text, want := range map[string]bool{"postgres://u@127.0.0.1:5432/d": true, "postgres://u@[::1]:5432/d": true,
		"postgres://u@192.0.2.7:5432/d": false, "host=/run user=u": true,
		"mariadb://u@127.0.0.1/d": true, "u@tcp(192.0.2.7:3306)/d": false, "u@unix(/run/m.sock)/d": true,
		"mariadb://u@h/d?socket=/run/m.sock": true} {
		d := testkit.Must(connect.ParseOwn(text))(t)
		testkit.Is(t, want, d.Local(), text, !want)
	}
	own := testkit.Must(os.ReadFile("/proc/self/comm"))(t)
	name := strings.TrimSpace(string(own))
	for _, c := range []struct {
		here  bool
		id    int
		name  string
		known bool
	}{{true, os.Getpid(), name, true}, {false, os.Getpid(), name, false}, {true, os.Getpid(), "post", false},
		{true, 0, name, false}, {true, 1 << 30, "", false}} {
		session, queued := backendOf(c.here, c.id, c.name).session()
		if (session.why == "") != c.known || (queued.why == "") != c.known || session.value > 0 != c.known {
			t.Errorf("%+v: %+v, %+v", c, session, queued)
		}
	}
}
