package connect

import (
	"context"
	"os"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// What a server says of its settings wins over its files, except where its arguments set them.
func TestServersAnswerForTheirSettings(t *testing.T) {
	for name, c := range map[string]struct {
		open    func(context.Context, explain.Asker, string, bool) (explain.Source, error)
		setting string
		file    string // where a file had another value
		want    string
		source  string
	}{
		"postgres18": {postgres.New, "fsync", "/etc/postgresql.conf", "off", "pg_settings"},
		"mariadb":    {mariadb.New, "innodb_use_native_aio", "/etc/my.cnf", "ON", "show global variables"},
		"mysql8":     {mariadb.New, "innodb_flush_method", "/etc/my.cnf", host.Default, "show global variables"},
		"sqlserver":  {newSQLServer, "traceflag1", "/var/opt/mssql/mssql.conf", host.Default, "dbcc tracestatus"},
		"a flag":     {newSQLServer, "traceflag0", "/var/opt/mssql/mssql.conf", "3979", "dbcc tracestatus"},
		"arguments":  {postgres.New, "fsync", "/proc/7/cmdline", "file's", "/proc/7/cmdline"},
	} {
		t.Run(name, func(t *testing.T) {
			if file := map[string]string{"arguments": "postgres18", "a flag": "sqlserver"}[name]; file != "" {
				name = file
			}
			b := testkit.Must(os.ReadFile("testdata/" + name + ".txtar"))(t)
			src := testkit.Must(c.open(t.Context(), newRecorded(b), "", false))(t)
			d := host.Database{Settings: []host.ServerSetting{{Name: c.setting, Value: host.Known("file's", "", c.file)},
				{Name: "unasked", Value: host.Known("x", "", c.file)}}}
			said := src.Server().Platform
			d.Answered(said.Source, said.Values)
			if got := d.Setting(c.setting); got.Value != c.want || got.Source != c.source {
				t.Errorf("%s is %q from %s, not %q from %s; the server said %v", c.setting, got.Value, got.Source, c.want,
					c.source, said)
			}
			testkit.Is(t, "x", d.Setting("unasked").Value, "what the server did not say became")
		})
	}
}

// A server that does not answer tells of no setting, and that is no error.
func TestServersMayRefuseTheirSettings(t *testing.T) {
	a := newRecorded([]byte("-- platform.1 --\n!error denied\n"))
	testkit.Is(t, 0, len(explain.AskSettings(t.Context(), a, "pg_settings", explain.Query{Name: "platform"}).Values))
}
