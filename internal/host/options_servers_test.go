//go:build system

package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// MariaDB itself says what it reads of options: hostlab reads the same, or does not know it.
func TestMariaDBReadsOptionsAlike(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.cnf")
	inside := filepath.Join(dir, "b.cnf")
	testkit.OK(t, os.WriteFile(inside, []byte("[mysqld]\nsync_binlog=5\n"), 0o644))
	variable := regexp.MustCompile(`(?m)^([a-z][a-z-]*[a-z]) +(.*)$`)
	for _, c := range []struct{ conf, args string }{
		{"[mysqld]\ninnodb_flush_method=3", ""}, {"[mysqld]\nloose-innodb-flush-meth = 'lit' # x", ""}, {"[MYSQLD]\ninnodb_flush_method=o_direct", ""},
		{"[mysqld]\nplugin-innodb-flush-method=nosync", ""}, {"[mysqld]\nskip-innodb-flush-method", ""}, {"[mysqld]\nskip-innodb-use-native-aio", ""},
		{"[mysqld]\nskip-innodb-use-native-aio=0", ""}, {"[mysqld]\nenable-large-pages\ndisable_innodb_doublewrite", ""}, {"[mysqld]\nloose-skip-innodb-doublewrite", ""},
		{"[mysqld]\nlarge_pages=yes", ""}, {"[mysqld]\nlarge_pages=true", ""}, {"[mysqld]\nsync_bin=1K#c", ""},
		{"[mariadb-10.3]\nsync_binlog=3", ""}, {"[galera]\nsync_binlog=3\n[client-server]\ninnodb_flush_log_at_trx_commit=2", ""}, {"[mysqld.x]\nsync_binlog=3", ""},
		{"[mysqld.x]\nsync_binlog=3", "--defaults-group-suffix=.x"}, {"[mysqld]\n!include " + inside + "\nsync_binlog=6", ""}, {"[mysqld]\nsync_binlog=6\n! include " + inside, ""},
		{"[mysqld]\nsync_binlog=6\n[mysqldump]\nsync_binlog=7", "--sync-binlog 8"}, {"[mysqld]\nsync_binlog=6", "--large-pages OFF"},
		{"[mysqld]\ninnodb-log-group-home=/r\nsync_binlog='4'", "-h /nowhere"}, {"[ mysqld ]\nsync_binlog=9", ""}, {"[mysqld ]\nsync_binlog=9", ""},
		{"[mysqld]\ninnodb_data_file_path=x\ninnodb_flush_log_at_trx_commit=2", "--loose_innodb-flush-log-at=0"}, {"[mysqld]\nlog-bin=0\nsync_binlog = \"\\s3\"", ""},
	} {
		testkit.OK(t, os.WriteFile(file, []byte(c.conf+"\n"), 0o644))
		args := append([]string{"--defaults-file=" + file}, strings.Fields(c.args)...)
		out, _ := exec.Command("/usr/sbin/mariadbd", append(args, "--verbose", "--help")...).Output() //nolint:gosec // of this test
		said := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(string(out), -1) {
			said[strings.ReplaceAll(m[1], "-", "_")] = strings.TrimSpace(m[2])
		}
		if said["sync_binlog"] == "" {
			t.Errorf("%q %s: it does not start", c.conf, c.args)
			continue
		}
		p := process{view: view{Tree{}, "", selfMounts}, pid: os.Getpid(), args: append([]string{"mariadbd"}, args...)}
		p.kind = "mariadb"
		got := p.mysqlConf(Known("10.11.0", "", "v"))
		for _, s := range platformSettings["mariadb"] {
			value := s.read(got.value(s.name))
			want, is := said[s.name]
			switch want {
			case "TRUE":
				want = "ON"
			case "FALSE":
				want = "OFF"
			}
			if value.State == StateOK && is && s.takes != nil && s.name != "log_bin" && value.Value != want {
				t.Errorf("%q %s: %s is %q, and the server says %q", c.conf, c.args, s.name, value.Value, want)
			}
			// What nothing sets has the value that the server has without options.
			if plain := map[string]string{"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "O_DIRECT"}[s.name]; value.State == StateAbsent && plain != "" && want != plain {
				t.Errorf("%q %s: the server says that %s is %q, and nothing was read", c.conf, c.args, s.name, want)
			}
		}
	}
}

// PostgreSQL itself says what it reads of its files and arguments.
func TestPostgreSQLReadsSettingsAlike(t *testing.T) {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(programs) == 0 {
		t.Fatal("PostgreSQL is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"PG_VERSION": "15\n", "a.conf": "fsync=off\n", "d/1.conf": "fsync=off\n", "d/.2.conf": "fsync=on\n"} {
		testkit.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, c := range []struct{ conf, args, setting string }{
		{"fsync = of", "", "fsync"}, {"fsync = o", "", "fsync"}, {"fsync = n", "", "fsync"}, {"fsync='TRUE'#x", "", "fsync"}, {"FSYNC 0", "", "fsync"}, {"fsync'off'", "", "fsync"},
		{"", "-F", "fsync"}, {"", "-iF", "fsync"}, {"", "-F -c fsync=on", "fsync"}, {"", "--fsync=off", "fsync"}, {"", "-cfsync=off", "fsync"}, {"fsync=on", "-k -F", "fsync"},
		{"include 'a.conf'\nfsync=on", "", "fsync"}, {"fsync=on\ninclude 'a.conf'", "", "fsync"}, {"include_dir 'd'", "", "fsync"}, {"include_if_exists 'x'\nfsync=off", "", "fsync"},
		{"include 'x'\nfsync=off", "", "fsync"}, {"synchronous_commit = false", "", "synchronous_commit"}, {"synchronous_commit = of", "", "synchronous_commit"},
		{"synchronous_commit = Remote_Apply", "", "synchronous_commit"}, {"", "--synchronous-commit=no", "synchronous_commit"}, {"full_page_writes = f", "", "full_page_writes"},
		{"huge_pages = YES", "", "huge_pages"}, {"wal_sync_method = OPEN_SYNC", "", "wal_sync_method"}, {"fsyncs.x=off", "", "fsync"},
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "postgresql.conf"), []byte(c.conf+"\n"), 0o644))
		args := append([]string{"-D", dir}, strings.Fields(c.args)...)
		out, err := exec.Command(programs[0], append([]string{"-C", c.setting}, args...)...).Output() //nolint:gosec // of this test
		p := process{view: view{Tree{}, "", selfMounts}, pid: os.Getpid(), args: append([]string{"postgres"}, args...)}
		p.kind = "postgresql"
		s, _ := settingOf("postgresql", c.setting)
		value := s.read(p.postgresConf(Known(dir, "", "cwd")).value(c.setting))
		want := strings.TrimSpace(string(out))
		switch {
		case err != nil && value.State == StateOK:
			t.Errorf("%q %s: %q, and the server does not start", c.conf, c.args, value.Value)
		case err == nil && value.State == StateOK && value.Value != want:
			t.Errorf("%q %s: %s is %q, and the server says %q", c.conf, c.args, c.setting, value.Value, want)
		case err == nil && value.State == StateAbsent && want != "on" || value.State == StateError && err == nil:
			t.Errorf("%q %s: the server says that %s is %q, and it was not read: %+v", c.conf, c.args, c.setting, want, value)
		}
	}
}
