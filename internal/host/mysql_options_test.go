package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// An option of MySQL and MariaDB is read as the server reads it, wherever it stands.
func TestMySQLOptions(t *testing.T) {
	const (
		file    = "/etc/my.cnf"
		cmdline = "/proc/50/cmdline"
	)
	flush := func(lines string) string { return "-- etc/my.cnf --\n[mysqld]\n" + lines + "\n" }
	version := func(v string) string { return "-- var/lib/mysql/mysql_upgrade_info --\n" + v + "\n" }
	for name, c := range map[string]struct{ args, files, setting, want, source string }{
		"dashes":                                {"", flush("innodb-flush_method = fsync"), "innodb_flush_method", "fsync", file},
		"loose":                                 {"", flush("loose-innodb-flush-method=fsync"), "innodb_flush_method", "fsync", file},
		"the beginning of a name":               {"", flush("innodb_flush_me=fsync"), "innodb_flush_method", "fsync", file},
		"of a name, loosely":                    {"--loose_innodb-flush-meth=nosync␀", "", "innodb_flush_method", "nosync", cmdline},
		"another option's name":                 {"", flush("innodb=FORCE\nlog=1"), "innodb_flush_method", Default, cmdline},
		"a beginning that several options have": {"", flush("innodb_flush=1"), "innodb_flush_method", Default, cmdline},
		"of a plugin":                           {"", flush("plugin-innodb-flush-method=nosync"), "innodb_flush_method", "nosync", file},
		"a number":                              {"", flush("innodb_flush_method=3"), "innodb_flush_method", "nosync", file},
		"the beginning of a word":               {"", flush("innodb_flush_method=lit"), "innodb_flush_method", "littlesync", file},
		"a word that others begin with":         {"", flush("innodb_flush_method=o_direct"), "innodb_flush_method", "O_DIRECT", file},
		"beginnings that are ambiguous":         {"", flush("innodb_flush_method=O_D"), "innodb_flush_method", "error", file},
		"a number too high":                     {"", flush("innodb_flush_method=9"), "innodb_flush_method", "error", file},
		"a word of later":                       {"", flush("innodb_flush_method=io_uring"), "innodb_flush_method", "error", file},
		"Percona's":                             {"", flush("innodb_flush_method=ALL_O_DIRECT"), "innodb_flush_method", "ALL_O_DIRECT", file},
		"quotes and a comment":                  {"", flush("innodb_flush_method='fsync'# here"), "innodb_flush_method", "fsync", file},
		"a comment without a blank":             {"", flush("sync_binlog=0#no"), "sync_binlog", "0", file},
		"an upper limit sets nothing":           {"", flush("maximum-sync_binlog=1"), "sync_binlog", Default, cmdline},
		"a unit":                                {"", flush("sync_binlog=1K"), "sync_binlog", "1024", file},
		"no number":                             {"", flush("innodb_flush_log_at_trx_commit=yes"), "innodb_flush_log_at_trx_commit", "error", file},
		"skip":                                  {"", flush("skip-innodb-use-native-aio"), "innodb_use_native_aio", "OFF", file},
		"disable, with an underscore":           {"", flush("disable_innodb_use_native_aio"), "innodb_use_native_aio", "OFF", file},
		"skip undone":                           {"", flush("skip-innodb-doublewrite=0"), "innodb_doublewrite", "ON", file},
		"enable":                                {"", flush("enable-large-pages"), "large_pages", "ON", file},
		"enable undone":                         {"", flush("enable-large-pages=0"), "large_pages", "OFF", file},
		"loose and skip":                        {"", flush("loose-skip-large-pages"), "large_pages", "OFF", file},
		"alone":                                 {"", flush("large-pages"), "large_pages", "ON", file},
		"alone, before another argument":        {"--large-pages␀OFF␀", "", "large_pages", "ON", cmdline},
		"FALSE":                                 {"", flush("large_pages=FALSE"), "large_pages", "OFF", file},
		"no boolean":                            {"", flush("large_pages=yes"), "large_pages", "error", file},
		"a value as the next argument":          {"--innodb-flush-method␀nosync␀", "", "innodb_flush_method", "nosync", cmdline},
		"behind the end of options":             {"--␀--innodb-flush-method=nosync␀", "", "innodb_flush_method", Default, cmdline},
		"arguments over files":                  {"--innodb-flush-method=O_DIRECT␀", flush("innodb_flush_method=nosync"), "innodb_flush_method", "O_DIRECT", cmdline},
		"the last one counts":                   {"--sync-binlog=0␀--sync_binlog=1␀", "", "sync_binlog", "1", cmdline},
		"the binary log's name":                 {"", flush("log_bin=/b/0"), "log_bin", "ON", file},
		"a binary log named 0":                  {"", flush("log-bin=0"), "log_bin", "ON", file},
		"a binary log without a name":           {"", flush("log-bin"), "log_bin", "ON", file},
		"no binary log":                         {"", flush("log-bin=x\nskip-log-bin"), "log_bin", "OFF", file},
		"of MariaDB 11":                         {"", flush("innodb_data_file_buffering=ON"), "innodb_data_file_buffering", "ON", file},
		"doublewrite's words":                   {"", flush("innodb_doublewrite=detect_only"), "innodb_doublewrite", "DETECT_ONLY", file},

		"a section in capitals":                 {"", "-- etc/my.cnf --\n[MYSQLD]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"the section of a client":               {"", "-- etc/my.cnf --\n[client]\nsync_binlog=7\n", "sync_binlog", Default, cmdline},
		"the section of a cluster":              {"", "-- etc/my.cnf --\n[galera]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"the section of another program":        {"", "-- etc/my.cnf --\n[mysqld_safe]\nsync_binlog=7\n[mysqldump]\nsync_binlog=8\n", "sync_binlog", Default, cmdline},
		"a section for its version":             {"", version("11.8.3-MariaDB") + "-- etc/my.cnf --\n[mariadb-11.8]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"a section for its major version":       {"", version("13.0.1-MariaDB") + "-- etc/my.cnf --\n[mariadbd-13]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"a section for another version":         {"", version("10.11.6-MariaDB") + "-- etc/my.cnf --\n[mariadb-11.8]\nsync_binlog=7\n", "sync_binlog", Default, cmdline},
		"a section for a version, unknown":      {"", "-- etc/my.cnf --\n[mariadb-11.8]\nsync_binlog=7\n", "sync_binlog", "error", file},
		"and an argument that wins over it":     {"--sync-binlog=1␀", "-- etc/my.cnf --\n[mariadb-11.8]\nsync_binlog=7\n", "sync_binlog", "1", cmdline},
		"a suffix by an argument":               {"--defaults-group-suffix=.inst2␀", "-- etc/my.cnf --\n[mariadb.inst2]\nsync_binlog=7\n[mysqld]\ninnodb=1\n", "sync_binlog", "7", file},
		"a suffix, and the plain section":       {"--defaults-group-suffix=2␀", "-- etc/my.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"another suffix":                        {"--defaults-group-suffix=2␀", "-- etc/my.cnf --\n[mysqld3]\nsync_binlog=7\n", "sync_binlog", Default, cmdline},
		"a suffix by the environment":           {"", "-- proc/50/environ --\nMYSQL_GROUP_SUFFIX=_b␀\n-- etc/my.cnf --\n[mysqld_b]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"an environment that nobody may see":    {"", "-- proc/50/environ --\n!errno EACCES\n-- etc/my.cnf --\n[mysqld_b]\nsync_binlog=7\n", "sync_binlog", "error", file},
		"that does not matter":                  {"", "-- proc/50/environ --\n!errno EACCES\n-- etc/my.cnf --\n[mysqld]\nsync_binlog=7\n[mysqldump]\nquick\n", "sync_binlog", "7", file},
		"a suffix behind a version":             {"--defaults-group-suffix=x␀", version("11.8.3") + "-- etc/my.cnf --\n[mariadb-11.8x]\nsync_binlog=7\n", "sync_binlog", "7", file},
		"a file that is named":                  {"--defaults-file=/srv/a.cnf␀", flush("sync_binlog=8") + "-- srv/a.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", "/srv/a.cnf"},
		"a file that is named, and gone":        {"--defaults-file=/srv/a.cnf␀", flush("sync_binlog=8"), "sync_binlog", "error", "/srv/a.cnf"},
		"a file by where it was started":        {"--defaults-file=a.cnf␀", flush("sync_binlog=8"), "sync_binlog", "error", "a.cnf"},
		"an extra file":                         {"--defaults-extra-file=/srv/a.cnf␀", flush("sync_binlog=8") + "-- srv/a.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", "/srv/a.cnf"},
		"no files":                              {"--no-defaults␀", flush("sync_binlog=8"), "sync_binlog", Default, cmdline},
		"the account's own file":                {"", flush("sync_binlog=8") + "-- proc/50/environ --\nHOME=/var/lib/mysql␀\n-- var/lib/mysql/.my.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", "/var/lib/mysql/.my.cnf"},
		"the file of its home":                  {"", "-- proc/50/environ --\nMYSQL_HOME=/opt/my␀\n-- opt/my/my.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", "/opt/my/my.cnf"},
		"an included file, where it stands":     {"", flush("!include /srv/a.cnf\nsync_binlog=8") + "-- srv/a.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "8", file},
		"an included file, later":               {"", flush("sync_binlog=8\n! include /srv/a.cnf") + "-- srv/a.cnf --\n[mysqld]\nsync_binlog=7\n", "sync_binlog", "7", "/srv/a.cnf"},
		"an included file with another section": {"", flush("!include /srv/a.cnf\nsync_binlog=8") + "-- srv/a.cnf --\n[client]\nsync_binlog=7\n", "sync_binlog", "8", file},
		"an included directory by a tab":        {"", flush("!includedir\t/srv/d") + "-- srv/d/a.cnf --\n[mysqld]\nsync_binlog=7\n-- srv/d/b.ini --\n[mysqld]\nsync_binlog=9\n", "sync_binlog", "7", "/srv/d/a.cnf"},
		"a file that includes itself":           {"", flush("sync_binlog=8\n!include /etc/my.cnf"), "sync_binlog", "8", file},
		"an included file that is hidden":       {"", flush("sync_binlog=8\n!include /srv/a.cnf") + "-- srv/a.cnf --\n!errno EACCES\n", "sync_binlog", "denied", "/srv/a.cnf"},
	} {
		list := dbsOf(tree(t, runs(50, 1, "mariadbd", "/usr/sbin/mariadbd␀"+c.args)+c.files))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		if got := list[0].Setting(c.setting); got.Or(string(got.State)) != c.want || got.Source != c.source {
			t.Errorf("%s: %q from %s, want %q from %s: %+v", name, got.Or(string(got.State)), got.Source, c.want, c.source, got)
		}
	}
}

// A real MySQL reads no section of MariaDB's.
func TestMySQLsSections(t *testing.T) {
	const conf = "-- etc/my.cnf --\n[mariadb]\nsync_binlog=7\n"
	for version, want := range map[string]string{"8.4.3": Default, "5.7.44": Default, "10.3.39-MariaDB": "7", "": "7"} {
		files := conf
		if version != "" {
			files += "-- var/lib/mysql/mysql_upgrade_info --\n" + version + "\n"
		}
		list := dbsOf(tree(t, runs(50, 1, "mysqld", "/usr/sbin/mysqld␀")+files))
		testkit.Is(t, want, list[0].Setting("sync_binlog").Value, version)
	}
}

// Directories are named by options in every form, too.
func TestMySQLDirectories(t *testing.T) {
	for name, c := range map[string]struct{ comm, args, files, data, log, binlog string }{
		"an instance by its suffix": {"mariadbd", "--defaults-group-suffix=.inst2␀", "-- etc/my.cnf --\n[mysqld]\ndatadir=/var/lib/mysql\n" +
			"[mariadb.inst2]\ndatadir=/srv/inst2\ninnodb_log_group_home_dir=/redo2\n", "/srv/inst2", "/redo2", ""},
		"short, loose and by a beginning": {"mariadbd", "-h␀/data␀--loose-innodb-log-group-home=redo␀", "", "/data", "/data/redo", ""},
		"a section for the version of the data": {"mariadbd", "--datadir=/data␀", "-- data/mysql_upgrade_info --\n11.8.3\n-- etc/my.cnf --\n[mariadb-11.8]\n" +
			"innodb_log_group_home_dir=/redo\n", "/data", "/redo", ""},
		"a section for a version that no file tells": {"mariadbd", "--datadir=/data␀", "-- etc/my.cnf --\n[mariadb-11.8]\ninnodb_log_group_home_dir=/redo\n", "/data", "error", ""},
		"a binary log elsewhere":                     {"mariadbd", "--datadir=/data␀--log-bin=/binlog/b␀--sync-binlog=1␀", "", "/data", "/data", "/binlog"},
		"a binary log beside the data":               {"mariadbd", "--datadir=/data␀--log-bin␀--sync-binlog=1␀", "", "/data", "/data", "/data"},
		"a binary log below the data":                {"mariadbd", "--datadir=/data␀--log-bin=b/x␀--sync-binlog=100␀", "", "/data", "/data", "/data/b"},
		"MariaDB does not wait for it by default":    {"mariadbd", "--datadir=/data␀--log-bin=/binlog/b␀", "", "/data", "/data", ""},
		"nor where it is told so":                    {"mysqld", "--datadir=/data␀--log-bin=/binlog/b␀--sync-binlog=0␀", "", "/data", "/data", ""},
		"MySQL does by default":                      {"mysqld", "--datadir=/data␀--log-bin=/binlog/b␀", "", "/data", "/data", "/binlog"},
		"MySQL 5.6 does not":                         {"mysqld", "--datadir=/data␀--log-bin=/binlog/b␀", "-- data/mysql_upgrade_info --\n5.6.51\n", "/data", "/data", ""},
		"MySQL 8 keeps one by default":               {"mysqld", "--datadir=/data␀--innodb-log-group-home-dir=/redo␀", "-- data/mysql_upgrade_history --\n{\"upgrade_history\":[{\"version\":\"5.7.9\"},{\"version\":\"8.4.3\"}]}\n", "/data", "/redo", "/data"},
		"unless it is told not to":                   {"mysqld", "--datadir=/data␀--skip-log-bin␀", "-- data/mysql_upgrade_info --\n8.0.40\n", "/data", "/data", ""},
		"a binary log of which nothing is known":     {"mysqld", "--datadir=/data␀", "-- etc/my.cnf --\n!errno EACCES\n-- data/ib_logfile0 --\n", "/data", "/data", "denied"},
	} {
		list := dbsOf(tree(t, runs(50, 1, c.comm, "/usr/sbin/"+c.comm+"␀"+c.args)+c.files))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		d := list[0]
		binlog := ""
		for _, l := range d.MoreLogs {
			binlog += l.Dir.Or(string(l.Dir.State))
		}
		got := strings.Join([]string{d.DataDir.Or(string(d.DataDir.State)), d.LogDir.Or(string(d.LogDir.State)), binlog}, " ")
		testkit.Is(t, c.data+" "+c.log+" "+c.binlog, got, name)
	}
}

// A recording keeps the options that are read in whatever form, and nothing else.
func TestMySQLKept(t *testing.T) {
	const text = "[client]\npassword=s3cret\n[mysqld]\nloose-innodb-flush-meth = 'fsync' # so\nlog-bin\nskip-large-pages\ninit_connect=s3cret\n!includedir /etc/d\n"
	want := "[client]\n[mysqld]\nloose-innodb-flush-meth = 'fsync' # so\nlog-bin\nskip-large-pages\n!includedir /etc/d"
	if kept := string(mysqlKept([]byte(text))); kept != want || string(mysqlKept([]byte(kept))) != want {
		t.Errorf("%q", kept)
	}
}

func FuzzMySQLOption(f *testing.F) {
	f.Add("loose-skip-innodb-flush-method=a")
	f.Add("skip_skip_log_bin")
	f.Add("x='\\")
	f.Fuzz(func(t *testing.T, line string) {
		name, _, _, ok := parseOption(optionText(line))
		if _, known := optionIn(name); ok != known {
			t.Errorf("%q is the option %q", line, name)
		}
	})
}

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
