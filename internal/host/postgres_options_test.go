package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A setting of PostgreSQL is read as the postmaster reads it, wherever it stands.
func TestPostgresSettings(t *testing.T) {
	const (
		file    = "/data/postgresql.conf"
		cmdline = "/proc/50/cmdline"
		auto    = "/data/postgresql.auto.conf"
	)
	conf := func(lines string) string { return "-- data/postgresql.conf --\n" + lines + "\n" }
	for name, c := range map[string]struct{ args, files, setting, want, source string }{
		"-F":                                {"-F␀", conf(""), "fsync", "off", cmdline},
		"-F behind other letters":           {"-iF␀", conf(""), "fsync", "off", cmdline},
		"-F is no value":                    {"-k␀-F␀", conf(""), "fsync", Default, cmdline},
		"-c":                                {"-c␀fsync=off␀", conf(""), "fsync", "off", cmdline},
		"-c with its value":                 {"-cfsync=off␀", conf(""), "fsync", "off", cmdline},
		"two dashes":                        {"--synchronous-commit=OFF␀", conf(""), "synchronous_commit", "off", cmdline},
		"the last one counts":               {"-F␀-c␀fsync=on␀", conf(""), "fsync", "on", cmdline},
		"for sessions, until 11":            {"-o␀-F -B 9␀", conf(""), "fsync", "off", cmdline},
		"-B":                                {"-B␀64␀", conf("shared_buffers=1GB"), "shared_buffers", "64", cmdline},
		"arguments over files":              {"-F␀", conf("fsync=on"), "fsync", "off", cmdline},
		"arguments where files are hidden":  {"-F␀", conf("!errno EACCES"), "fsync", "off", cmdline},
		"a hidden file":                     {"", "-- data/postgresql.conf --\n!errno EACCES\n", "fsync", "denied", file},
		"nothing between":                   {"", conf("fsync'off'"), "fsync", "off", file},
		"no equals sign":                    {"", conf("FSync off"), "fsync", "off", file},
		"the beginning of a word":           {"", conf("fsync = of"), "fsync", "off", file},
		"a letter":                          {"", conf("fsync = n # no"), "fsync", "off", file},
		"a letter of both":                  {"", conf("fsync = o"), "fsync", "error", file},
		"true":                              {"", conf("fsync = 'TRUE'"), "fsync", "on", file},
		"a word that nobody knows":          {"", conf("fsync = maybe"), "fsync", "error", file},
		"an enum has no beginnings":         {"", conf("synchronous_commit = of"), "synchronous_commit", "error", file},
		"an enum's other word":              {"", conf("synchronous_commit = false"), "synchronous_commit", "off", file},
		"local":                             {"", conf("synchronous_commit = Local"), "synchronous_commit", "local", file},
		"a method":                          {"", conf("wal_sync_method = open_sync"), "wal_sync_method", "open_sync", file},
		"a method of later":                 {"", conf("wal_sync_method = uring"), "wal_sync_method", "error", file},
		"full_page_writes":                  {"", conf("full_page_writes=no"), "full_page_writes", "off", file},
		"quotes in quotes":                  {"", conf("shared_buffers='1''GB' # x"), "shared_buffers", "1'GB", file},
		"the last line counts":              {"", conf("fsync=off\nfsync=on"), "fsync", "on", file},
		"another setting's name":            {"", conf("fsyncs=off\n#fsync=off"), "fsync", Default, cmdline},
		"ALTER SYSTEM":                      {"", conf("fsync=on") + "-- data/postgresql.auto.conf --\nfsync = 'off'\n", "fsync", "off", auto},
		"an included file, where it stands": {"", conf("include 'a.conf'\nfsync=on") + "-- data/a.conf --\nfsync=off\n", "fsync", "on", file},
		"an included file, later":           {"", conf("fsync=on\ninclude 'a.conf'") + "-- data/a.conf --\nfsync=off\n", "fsync", "off", "/data/a.conf"},
		"an included file that is gone":     {"", conf("include 'a.conf'"), "fsync", "error", "/data/a.conf"},
		"one that need not be there":        {"", conf("include_if_exists 'a.conf'\nfsync=on"), "fsync", "on", file},
		"a directory":                       {"", conf("include_dir = 'd'") + "-- data/d/2.conf --\nfsync=off\n-- data/d/1.conf --\nfsync=on\n-- data/d/.3.conf --\nfsync=on\n", "fsync", "off", "/data/d/2.conf"},
		"a file that includes itself":       {"", conf("fsync=off\ninclude 'postgresql.conf'"), "fsync", "off", file},
		"no configuration":                  {"", "", "fsync", "error", file},
		"a configuration elsewhere":         {"--config_file=/etc/a.conf␀", "-- etc/a.conf --\nfsync=off\n", "fsync", "off", "/etc/a.conf"},
		"one by where it was started":       {"--config_file=a.conf␀", conf("fsync=off"), "fsync", "error", "a.conf"},
	} {
		list := dbsOf(tree(t, runs(50, 1, "postgres", "postgres␀-D␀/data␀"+c.args)+c.files+"-- data/PG_VERSION --\n17\n"))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		if got := list[0].Setting(c.setting); got.Or(string(got.State)) != c.want || got.Source != c.source {
			t.Errorf("%s: %q from %s, want %q from %s: %+v", name, got.Or(string(got.State)), got.Source, c.want, c.source, got)
		}
	}
	// The directory of the configuration need not be that of the data, where the working directory is.
	list := dbsOf(tree(t, runs(50, 1, "postgres", "postgres␀-D␀/etc/pg␀")+link(50, "cwd", "/data")+"-- etc/pg/postgresql.conf --\nfsync=off\n-- data/PG_VERSION --\n17\n"))
	if got := list[0].Setting("fsync"); got.Value != "off" || list[0].DataDir.Value != "/data" {
		t.Errorf("%+v, data in %+v", got, list[0].DataDir)
	}
}

func TestPostgresArgs(t *testing.T) {
	settings, dir := postgresArgs([]string{"-p", "5432", "-D/data ", "-N", "9", "-cwork_mem=1MB", "--wal-sync-method=fsync", "-Fs", "-h", "-c", "x=y", "-c"})
	want := [][2]string{{"work_mem", "1MB"}, {"wal_sync_method", "fsync"}, {"fsync", "off"}}
	if diff := cmp.Diff(want, settings); diff != "" || dir != "/data" {
		t.Errorf("in %q (-want +got):\n%s", dir, diff)
	}
}
