package host

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/counters"
	"hostlab/internal/testkit"
)

// proc is the archive of a process.
func runs(pid, parent int, comm, cmdline string, more ...string) string {
	s := fmt.Sprintf("-- proc/%d/comm --\n%s\n-- proc/%d/cmdline --\n%s\n-- proc/%d/stat --\n%d (%s) S %d 1 1\n",
		pid, comm, pid, cmdline, pid, pid, comm, parent)
	for i := 0; i+1 < len(more); i += 2 {
		s += fmt.Sprintf("-- proc/%d/%s --\n%s\n", pid, more[i], more[i+1])
	}
	return s
}

func link(pid int, name, target string) string {
	return fmt.Sprintf("-- proc/%d/%s -> %s --\n", pid, name, target)
}

const debianPostgres = "/usr/lib/postgresql/15/bin/postgres␀-D␀/var/lib/postgresql/15/main␀-c␀config_file=/etc/postgresql/15/main/postgresql.conf␀"

func TestReadDatabases(t *testing.T) {
	tests := []struct {
		name, archive string
		want          []string // kind pid data log, or states
	}{
		{"none", runs(1, 0, "systemd", "/sbin/init␀") + runs(2, 0, "kthreadd", ""), []string{}},
		{
			"Debian's PostgreSQL with its children",
			runs(700, 1, "postgres", debianPostgres) + runs(701, 700, "postgres", "postgres: 15/main: checkpointer ␀␀␀") +
				runs(702, 700, "postgres", debianPostgres), // a child that has not set its title yet
			[]string{"postgresql 700 /var/lib/postgresql/15/main /var/lib/postgresql/15/main/pg_wal"},
		},
		{
			"WAL moved by a link",
			runs(700, 1, "postgres", debianPostgres) + "-- var/lib/postgresql/15/main/pg_wal -> /wal/15 --\n-- wal/15/ --\n",
			[]string{"postgresql 700 /var/lib/postgresql/15/main /wal/15"},
		},
		{
			"WAL at a descriptor that the server was started with",
			runs(700, 1, "postgres", debianPostgres) + "-- var/lib/postgresql/15/main/pg_wal -> /proc/self/fd/5 --\n-- proc/700/fd/5 -> /wal/15 --\n-- wal/15/ --\n",
			[]string{"postgresql 700 /var/lib/postgresql/15/main /wal/15"},
		},
		{
			"a data directory of another user",
			runs(700, 1, "postgres", debianPostgres) + "-- var/lib/postgresql/15/main --\n!errno EACCES\n",
			[]string{"postgresql 700 /var/lib/postgresql/15/main denied"},
		},
		{
			"PostgreSQL 9 by its working directory", runs(9, 1, "postmaster", "/opt/pg/bin/postmaster␀") + link(9, "cwd", "/srv/pg") +
				"-- srv/pg/pg_xlog/ --\n",
			[]string{"postgresql 9 /srv/pg /srv/pg/pg_xlog"},
		},
		{
			"PostgreSQL by its environment", runs(9, 1, "postgres", "postgres␀", "environ", "LANG=C␀PGDATA=/data/pg␀"),
			[]string{"postgresql 9 /data/pg /data/pg/pg_wal"},
		},
		{
			"PostgreSQL whose data_directory is set", runs(9, 1, "postgres", "postgres␀-D␀/etc/pg␀--data-directory=/data/pg␀"),
			[]string{"postgresql 9 /data/pg /data/pg/pg_wal"},
		},
		{
			"a container's PostgreSQL seen from the host",
			runs(9, 8, "postgres", "postgres␀") + link(9, "cwd", "/var/lib/postgresql/data") + link(9, "ns/mnt", "mnt:[2]") +
				link(9, "root", "/") + "-- proc/self/ns/mnt -> mnt:[1] --\n",
			[]string{"postgresql 9 /proc/9/root/var/lib/postgresql/data /proc/9/root/var/lib/postgresql/data/pg_wal"},
		},
		{
			"a service with mounts of its own, whose data are where they are for all",
			runs(9, 1, "postgres", "postgres␀") + link(9, "cwd", "/var/lib/pg") + link(9, "ns/mnt", "mnt:[2]") + link(9, "root", "/") +
				"-- proc/self/ns/mnt -> mnt:[1] --\n-- proc/9/mountinfo --\n70 1 8:1 / / rw - ext4 /dev/sda1 rw\n71 70 0:40 / /home rw - tmpfs tmpfs rw\n" +
				mountinfo("1 0 0:1 / / rw - rootfs none rw", "20 1 8:1 / / rw - ext4 /dev/sda1 rw"),
			[]string{"postgresql 9 /var/lib/pg /var/lib/pg/pg_wal"},
		},
		{
			"a service with a mount of its own over the data",
			runs(9, 1, "postgres", "postgres␀") + link(9, "cwd", "/var/lib/pg") + link(9, "ns/mnt", "mnt:[2]") + link(9, "root", "/") +
				"-- proc/self/ns/mnt -> mnt:[1] --\n-- proc/9/mountinfo --\n70 1 8:1 / / rw - ext4 /dev/sda1 rw\n71 70 8:1 /x /var/lib/pg rw - ext4 /dev/sda1 rw\n" +
				mountinfo("20 1 8:1 / / rw - ext4 /dev/sda1 rw"),
			[]string{"postgresql 9 /proc/9/root/var/lib/pg /proc/9/root/var/lib/pg/pg_wal"},
		},
		{
			"a container into which this user may not look",
			runs(9, 8, "mariadbd", "mariadbd␀--datadir=/var/lib/mysql␀", "status", "Name:\tmariadbd\nNSpid:\t9\t1\nThreads:\t7"),
			[]string{"mariadb 9 denied denied"},
		},
		{
			"another user's server, in no container",
			runs(9, 8, "mariadbd", "mariadbd␀--datadir=/data␀", "status", "Name:\tmariadbd\nNSpid:\t9\nThreads:\t7"),
			[]string{"mariadb 9 /data /data"},
		},
		{"a server that is about to end", runs(50, 1, "mariadbd", ""), []string{}},
		{
			"MariaDB with defaults", runs(50, 1, "mariadbd", "/usr/sbin/mariadbd␀"),
			[]string{"mariadb 50 /var/lib/mysql /var/lib/mysql"},
		},
		{
			"MariaDB's options", runs(50, 1, "mariadbd", "/usr/sbin/mariadbd␀--datadir=/data/my␀--innodb_log-group_home-dir␀../redo␀"),
			[]string{"mariadb 50 /data/my /data/redo"},
		},
		{
			"option files, the later one over the earlier", runs(50, 1, "mysqld", "/usr/sbin/mysqld␀") +
				"-- etc/my.cnf --\n[client]\ndatadir=/wrong\n[mysqld]\ndatadir = /first\n!includedir /etc/my.cnf.d\n" +
				"-- etc/my.cnf.d/10.cnf --\n[mysqld]\ndatadir=\"/second\" # here\ninnodb-log-group-home-dir=/redo\n-- etc/my.cnf.d/x.txt --\n[mysqld]\ndatadir=/no\n",
			[]string{"mysql 50 /second /redo"},
		},
		{
			"an option file that may not be read", runs(50, 1, "mysqld", "/usr/sbin/mysqld␀--defaults-file=/srv/my.cnf␀") +
				"-- srv/my.cnf --\n!errno EACCES\n",
			[]string{"mysql 50 denied denied"},
		},
		{
			"a redo log that is seen, whatever the hidden option file says", runs(50, 1, "mysqld", "/usr/sbin/mysqld␀--datadir=/data␀") +
				"-- etc/my.cnf --\n!errno EACCES\n-- data/ib_logfile0 --\n",
			[]string{"mysql 50 /data /data"},
		},
		{
			"a hidden option file that may name another place", runs(50, 1, "mysqld", "/usr/sbin/mysqld␀--datadir=/data␀") +
				"-- etc/my.cnf --\n!errno EACCES\n-- data/ibdata1 --\n",
			[]string{"mysql 50 /data denied"},
		},
		{
			"the open redo log of MySQL 8", runs(50, 1, "mysqld", "/usr/sbin/mysqld␀--datadir=/data␀") +
				link(50, "fd/0", "/dev/null") + link(50, "fd/5", "/redo/#innodb_redo/#ib_redo12"),
			[]string{"mysql 50 /data /redo/#innodb_redo"},
		},
		{
			"Oracle by its open redo logs", runs(60, 1, "ora_lgwr_ORCLCD", "ora_lgwr_ORCLCDB") + link(60, "fd/256", "/u01/oradata/ORCL/redo01.log"),
			[]string{"oracle 60 absent /u01/oradata/ORCL"},
		},
		{
			"Oracle from outside", runs(60, 1, "ora_lgwr_ORCL", "ora_lgwr_ORCL") + "-- proc/60/fd --\n!errno EACCES\n",
			[]string{"oracle 60 absent denied"},
		},
		{
			"HANA by global.ini", runs(70, 1, "hdbindexserver", "hdbindexserver␀-port␀30003␀") + "-- usr/sap/HDB/SYS/global/hdb/custom/config/global.ini --\n" +
				"[persistence]\nbasepath_datavolumes = /hana/data/HDB\nbasepath_logvolumes = /hana/log/HDB\n",
			[]string{"hana 70 /hana/data/HDB /hana/log/HDB"},
		},
		{
			"SQL Server and its watchdog", runs(80, 1, "sqlservr", "/opt/mssql/bin/sqlservr␀") + runs(81, 80, "sqlservr", "/opt/mssql/bin/sqlservr␀") +
				"-- var/opt/mssql/mssql.conf --\n[filelocation]\ndefaultlogdir = /log/mssql\n",
			[]string{"sqlserver 81 /var/opt/mssql/data /log/mssql"},
		},
		{
			"SQL Server with defaults", runs(80, 1, "sqlservr", "/opt/mssql/bin/sqlservr␀"),
			[]string{"sqlserver 80 /var/opt/mssql/data /var/opt/mssql/data"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{}
			for _, db := range dbsOf(tree(t, tt.archive)) {
				got = append(got, fmt.Sprintln(db.Kind, db.PID, db.DataDir.Or(string(db.DataDir.State)), db.LogDir.Or(string(db.LogDir.State))))
				got[len(got)-1] = got[len(got)-1][:len(got[len(got)-1])-1]
			}
			testkit.Same(t, tt.want, got)
		})
	}
}

// A path of another mount namespace is looked up with that process's mounts.
func TestStorageOfAnotherNamespace(t *testing.T) {
	s := StorageOf(tree(t, twoNVMe+mountinfo("1 0 0:9 / / rw - tmpfs t rw")+
		"-- proc/9/root/var/lib/pg/pg_wal -> /wal --\n-- proc/9/root/wal/ --\n"+
		"-- proc/9/mountinfo --\n1 0 0:50 / / rw - overlay o rw\n2 1 259:1 / /wal rw - ext4 /dev/nvme0n1p1 rw\n"),
		"/proc/9/root/var/lib/pg/pg_wal")
	testkit.Same(t, []string{"nvme on /wal ext4", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, show(s))
	testkit.Is(t, "/proc/9/root/wal", s.Resolved.Value, "resolved", s.Resolved)
}

func FuzzCmdline(f *testing.F) {
	f.Add("postgres\x00-D\x00/x\x00--data-directory=/y", "1 (a) b) S 7 1", "[mysqld]\ndatadir=/x\n!include /y")
	f.Add("\x00\x00 ", ")", "[\n=\n!")
	f.Fuzz(func(t *testing.T, cmdline, stat, conf string) {
		p := process{args: parseCmdline(cmdline)}
		if d := p.postgresDir(); d != "" && d[0] != '/' {
			t.Errorf("%q is not absolute", d)
		}
		p.option("datadir")
		parseParent(stat)
		parseConf(conf, []string{"mysqld"})
	})
}

// A server whose files do not answer is named all the same, and holds up nothing.
func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	defer close(hung)
	s := process{pid: os.Getpid(), comm: "x",
		engine: engine{kind: "postgresql", read: func(process) (Database, bool) { <-hung; return Database{}, false }}}
	db := s.ask(Tree{})
	if db.Kind != "postgresql" || db.PID != os.Getpid() || db.LogDir.State != StateError || db.LogDir.Reason != ErrNoAnswer.Error() {
		t.Errorf("%+v", db)
	}
}

func dbsOf(t Tree) []Database {
	list, _ := readServers(t)
	return list
}

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

// TestRead reads what facts of fixtures, and of a Windows host, are written as: they are written so again.
func TestRead(t *testing.T) {
	machines := map[string]*Facts{}
	for _, name := range testkit.Sample(slices.Sorted(maps.Keys(fixtures)), 6) {
		machines[name] = Collect(t.Context(), Options{Tree: unpack(t, readFixture(t, name))})
	}
	top := twoGroups()
	machines["windows"] = &Facts{Schema: Schema, Topology: top, Windows: &Windows{
		Processors: windowsProcessors(top, map[int]groupPower{}, map[string]counters.Series{"Parking Status": {Err: counters.NoData}}),
		SQLServers: []SQLServer{{Instance: "ERP", PID: Known(7, "", "QueryServiceStatusEx")}}}}
	for name, f := range machines {
		want := testkit.Must(json.Marshal(f))(t)
		wide := []byte("\xff\xfe")
		for _, u := range utf16.Encode([]rune(string(want) + "\r\n")) {
			wide = binary.LittleEndian.AppendUint16(wide, u)
		}
		if _, err := Read(wide); err != nil {
			t.Errorf("%s as UTF-16: %v", name, err)
		}
		read, err := Read(append([]byte("\ufeff"), want...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := json.Marshal(read); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(string(want), string(got)))
		}
	}
	for text, why := range map[string]string{
		"": "no facts", "[]": "no facts", "{}": "no facts of version 1", `{"schema":9}`: "no facts of version 1", `{"schema":1}`: "no facts of version 1",
		`{"schema":1,"topology":{"online":{"value":[0],"state":"sure"}}}`: `state "sure"`,
		`{"schema":1,"topology":{"online":{"value":null,"state":"ok"}}}`:  "no value",
		`{"schema":1,"topology":{"online":{"value":"x","state":"ok"}}}`:   "no facts",
	} {
		testkit.Refused(Read([]byte(text)))(t, why, text)
	}
}
