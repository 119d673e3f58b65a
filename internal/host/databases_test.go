package host

import (
	"fmt"
	"os"
	"testing"

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
