package host

import (
	"testing"

	"hostlab/internal/testkit"
)

const (
	persistedV2 = `{"Version": 2, "mysql_static_variables": {"innodb_flush_method": {"Value": "fsync", "Metadata": {"Host": "", "User": "root", "Timestamp": 1}}},
		"mysql_dynamic_variables": {"innodb_buffer_pool_size": {"Value": "8589934592", "Metadata": {}}, "init_connect": {"Value": "s3cret"}}}`
	persistedV1 = `{"Version": 1, "mysql_server": {"mysql_server_static_options": {"innodb_flush_method": {"Value": "fsync", "Metadata": {"User": "x"}}}}}`
)

// What MySQL has persisted wins over its option files and its arguments, as its documentation says.
func TestPersistedSettings(t *testing.T) {
	const mysqld = "/usr/sbin/mysqld␀--innodb-flush-method=O_DIRECT␀"
	for name, c := range map[string]struct{ args, conf, auto, want, source string }{
		"version 2":       {mysqld, "", persistedV2, "fsync", "/var/lib/mysql/mysqld-auto.cnf"},
		"version 1":       {mysqld, "", persistedV1, "fsync", "/var/lib/mysql/mysqld-auto.cnf"},
		"of another":      {mysqld, "", `{"Version": 2, "mysql_static_variables": {"back_log": {"Value": "7"}}}`, "O_DIRECT", "/proc/50/cmdline"},
		"empty":           {mysqld, "", "{}", "O_DIRECT", "/proc/50/cmdline"},
		"not loaded":      {mysqld + "--persisted-globals-load=OFF␀", "", persistedV2, "O_DIRECT", "/proc/50/cmdline"},
		"nor by a file":   {mysqld, "persisted_globals_load=0\n", persistedV2, "O_DIRECT", "/proc/50/cmdline"},
		"no defaults":     {"/usr/sbin/mysqld␀--no-defaults␀--innodb-flush-method=O_DIRECT␀", "", persistedV2, "O_DIRECT", "/proc/50/cmdline"},
		"MariaDB":         {"/usr/sbin/mariadbd␀--innodb-flush-method=O_DIRECT␀", "", persistedV2, "O_DIRECT", "/proc/50/cmdline"},
		"damaged":         {mysqld, "", `{"Version"`, string(StateError), "/var/lib/mysql/mysqld-auto.cnf"},
		"may not be read": {mysqld, "", errnoMark + "EACCES", string(StateDenied), "/var/lib/mysql/mysqld-auto.cnf"},
	} {
		list := dbsOf(tree(t, runs(50, 1, "mysqld", c.args)+"-- etc/my.cnf --\n[mysqld]\n"+c.conf+"-- var/lib/mysql/mysqld-auto.cnf --\n"+c.auto+"\n"))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		if got := list[0].Setting("innodb_flush_method"); got.Or(string(got.State)) != c.want || got.Source != c.source {
			t.Errorf("%s: %q (%s) from %s, want %q from %s", name, got.Value, got.State, got.Source, c.want, c.source)
		}
	}
}

// A recording keeps of the file only what is read, and reads the same.
func TestPersistedLines(t *testing.T) {
	kept := string(persistedLines([]byte(persistedV2)))
	const want = `{"mysql_server":{"innodb_buffer_pool_size":{"Value":"8589934592"},"innodb_flush_method":{"Value":"fsync"}}}`
	if again := string(persistedLines([]byte(kept))); kept != want || again != want {
		t.Errorf("%s, and again %s, want %s", kept, again, want)
	}
	testkit.Is(t, "{", string(persistedLines([]byte(`{"a": "s3cret`))), "is kept of what cannot be read")
}

// What the server says wins, except where it says what it has persisted: there it has to be changed.
func TestAnsweredPersisted(t *testing.T) {
	for said, source := range map[string]string{"FSYNC": "/var/lib/mysql/mysqld-auto.cnf", "O_DIRECT": "show global variables"} {
		d := Database{Settings: []ServerSetting{{"innodb_flush_method", Known("fsync", "", "/var/lib/mysql/mysqld-auto.cnf")}}}
		if d.Answered("show global variables", map[string]string{"innodb_flush_method": said}); d.Settings[0].Value.Source != source {
			t.Errorf("%s: %+v", said, d.Settings[0])
		}
	}
}
