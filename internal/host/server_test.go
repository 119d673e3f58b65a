package host

import (
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// What a server's own process has and may use is read of that process, not of hostlab's.
func TestServerProcess(t *testing.T) {
	const v2Mount = "-- proc/self/mountinfo --\n30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	archive := v2Mount + runs(700, 1, "postgres", debianPostgres,
		"status", "Name:\tpostgres\nUid:\t101\t101\t101\t101\nThreads:\t1\nHugetlbPages:\t  4096 kB\nCpus_allowed_list:\t2-3",
		"oom_score_adj", "-900", "cgroup", "0::/system.slice/pg.service", "limits", "Max open files            1024                 524288               files     ") +
		"-- .hostlab/maps/700 --\nmaps: 235\nshared: 1024 kB\n" +
		"-- sys/fs/cgroup/system.slice/pg.service/cpu.max --\n150000 100000\n" +
		"-- sys/fs/cgroup/system.slice/pg.service/cpu.stat --\nusage_usec 1\nnr_periods 100\nnr_throttled 3\n" +
		"-- sys/fs/cgroup/system.slice/pg.service/memory.events --\nlow 0\nhigh 9\nmax 9\noom_kill 3\n" +
		"-- sys/fs/cgroup/system.slice/pg.service/memory.events.local --\nlow 0\nhigh 2\nmax 1\noom 0\n" +
		"-- sys/fs/cgroup/system.slice/memory.events.local --\nhigh 4\nmax 0\n" +
		"-- sys/fs/cgroup/system.slice/pg.service/memory.pressure --\nsome avg10=9.00 avg60=9.00 avg300=9.00 total=1\nfull avg10=1.00 avg60=1.00 avg300=2.50 total=1\n" +
		"-- sys/fs/cgroup/system.slice/memory.high --\n1073741824\n" +
		"-- proc/self/status --\nCpus_allowed_list:\t0\n" +
		"-- var/lib/postgresql/15/main/PG_VERSION --\n15\n" +
		"-- etc/postgresql/15/main/postgresql.conf --\nfsync = on # always\ninclude_dir 'conf.d'\n" +
		"-- etc/postgresql/15/main/conf.d/10.conf --\nhuge_pages 'try'\nshared_buffers=128MB\n" +
		"-- var/lib/postgresql/15/main/postgresql.auto.conf --\nfsync = 'off'\n"
	list := dbsOf(tree(t, archive))
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	d := list[0]
	for name, got := range map[string]any{
		"15": d.Version.Value, "off": d.Setting("fsync").Value, "try": d.Setting("huge_pages").Value, "128MB": d.Setting("shared_buffers").Value,
		Default: d.Setting("wal_sync_method").Value,
	} {
		if got != name {
			t.Errorf("%v, want %s", got, name)
		}
	}
	for name, want := range map[string]string{"fsync": "/var/lib/postgresql/15/main/postgresql.auto.conf", "huge_pages": "/etc/postgresql/15/main/conf.d/10.conf"} {
		testkit.Is(t, want, d.Setting(name).Source, name, "was read from", "and is in")
	}
	for name, c := range map[string]struct{ got, want int64 }{
		"uid": {int64(d.UID.Value), 101}, "maps": {d.Maps.Value, 235}, "shared": {d.SharedMemory.Value, 1 << 20}, "huge": {d.HugePages.Value, 4 << 20},
		"score": {d.OOMScoreAdj.Value, -900}, "files": {d.Limits.OpenFiles.Value, 1024}, "CPUs": {int64(d.Limits.Affinity.Value[0]), 2},
		"periods": {d.Limits.CPUPeriods.Value, 100}, "throttled": {d.Limits.CPUThrottled.Value, 3}, "events": {d.Limits.MemoryEvents.Value, 7},
		"kills": {d.Limits.MemoryKills.Value, 3}, "stalls, per mille": {int64(1000 * d.Limits.MemoryStalled.Value), 25},
		"high": {d.Limits.MemoryHigh.Value, 1 << 30},
	} {
		testkit.Is(t, c.want, c.got, name)
	}
	if d.Limits.CPUQuota.Value != 1.5 || d.Limits.MemoryMax.State != StateAbsent {
		t.Errorf("%+v", d.Limits)
	}
}

// Of a container that this user may not look into, the files of this host tell nothing.
func TestSettingsOfAHiddenContainer(t *testing.T) {
	const status = "Name:\tx\nNSpid:\t9\t1"
	for kind, c := range map[string]struct{ archive, setting, typed string }{
		"mariadb":    {runs(9, 8, "mariadbd", "mariadbd␀--sync-binlog=1␀", "status", status) + "-- etc/my.cnf --\n[mysqld]\ninnodb_flush_method=nosync\n", "innodb_flush_method", "sync_binlog"},
		"postgresql": {runs(9, 8, "postgres", "postgres␀-D␀/data␀-c␀full_page_writes=on␀", "status", status) + "-- data/postgresql.conf --\nfsync=off\n", "fsync", "full_page_writes"},
		"mongodb":    {runs(9, 8, "mongod", "mongod␀-f␀/etc/mongod.conf␀", "status", status) + "-- etc/mongod.conf --\nnet:\n  maxIncomingConnections: 5\n", "maxIncomingConnections", ""},
		"sqlserver":  {runs(9, 8, "sqlservr", "sqlservr␀", "status", status) + "-- var/opt/mssql/mssql.conf --\n[control]\nwritethrough=1\n", "writethrough", ""},
	} {
		d := dbsOf(tree(t, c.archive))[0]
		testkit.Is(t, StateDenied, d.Setting(c.setting).State, kind)
		if got := d.Setting(c.typed); c.typed != "" && got.State != StateOK {
			t.Errorf("%s: its arguments: %+v", kind, got)
		}
	}
}

// A network or IPC of its own is seen by the namespace.
func TestOwnNamespaces(t *testing.T) {
	ours := "-- proc/self/ns/net -> net:[1] --\n-- proc/self/ns/ipc -> ipc:[1] --\n-- proc/self/ns/mnt -> mnt:[1] --\n"
	for name, c := range map[string]struct {
		archive string
		net     string
	}{
		"ours":                     {link(9, "ns/net", "net:[1]"), "false"},
		"its own":                  {link(9, "ns/net", "net:[2]"), "true"},
		"not seen":                 {"", "absent"},
		"not seen, in a container": {"-- proc/9/ns -> /nowhere --\n", "denied"},
	} {
		status := map[bool]string{true: "NSpid:\t9\t1", false: "NSpid:\t9"}[c.net == "denied"]
		d := dbsOf(tree(t, ours+runs(9, 1, "redis-server", "redis-server␀", "status", "Name:\tx\n"+status)+c.archive))[0]
		got := string(d.OwnNetwork.State)
		if v, ok := d.OwnNetwork.Get(); ok {
			got = map[bool]string{true: "true", false: "false"}[v]
		}
		testkit.Is(t, c.net, got, name)
	}
}

func TestMoreServers(t *testing.T) {
	for name, c := range map[string]struct{ archive, kind, data, log, version string }{
		"MongoDB by its options": {runs(9, 1, "mongod", "mongod␀--dbpath␀/data/db␀--logpath␀/log/mongod.log␀") +
			"-- log/mongod.log --\n" + `{"msg":"MongoDB starting","attr":{"pid":9,"host":"x"}}` + "\n" + `{"msg":"Build Info","attr":{"buildInfo":{"version":"8.0.4"}}}` + "\n",
			"mongodb", "/data/db", "/data/db/journal", "8.0.4"},
		"MongoDB whose log is of another start": {runs(9, 1, "mongod", "mongod␀--dbpath␀/data/db␀--logpath␀/log/mongod.log␀") +
			"-- log/mongod.log --\n" + `{"attr":{"pid":8}}` + "\n" + `{"msg":"Build Info","attr":{"buildInfo":{"version":"7.0.4"}}}` + "\n",
			"mongodb", "/data/db", "/data/db/journal", "absent"},
		"MongoDB by its configuration": {runs(9, 1, "mongod", "/usr/bin/mongod␀--config␀/etc/mongod.conf␀") +
			"-- etc/mongod.conf --\nstorage:\n  dbPath: /srv/mongo # here\nnet:\n  port: 1\n", "mongodb", "/srv/mongo", "/srv/mongo/journal", "absent"},
		"Redis": {runs(9, 1, "redis-server", "/usr/bin/redis-server 127.0.0.1:6379") + link(9, "cwd", "/var/lib/redis") +
			link(9, "fd/7", "/var/lib/redis/appendonlydir/x.aof"), "redis", "/var/lib/redis", "/var/lib/redis/appendonlydir", "absent"},
		"Db2": {runs(9, 1, "db2sysc", "db2sysc 0␀") + link(9, "fd/7", "/db2/log/NODE0000/S0000012.LOG"), "db2", "absent", "/db2/log/NODE0000", "absent"},
		"ASE": {runs(9, 1, "dataserver", "dataserver␀-d/opt/sap/data/master.dat␀"), "ase", "/opt/sap/data", "absent", "absent"},
		"Elasticsearch beside its launcher and another program in Java": {runs(7, 1, "java", "/opt/jdk/bin/java␀-cp␀x.jar␀org.example.Main␀") +
			runs(8, 1, "java", "/usr/share/elasticsearch/jdk/bin/java␀-Xms4m␀org.elasticsearch.launcher.CliToolLauncher␀") +
			runs(9, 8, "java", "/usr/share/elasticsearch/jdk/bin/java␀-Xms1g␀-m␀org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch␀") +
			link(9, "fd/400", "/var/lib/elasticsearch/node.lock"), "elasticsearch", "/var/lib/elasticsearch", "/var/lib/elasticsearch", "absent"},
		"Elasticsearch 7": {runs(9, 1, "java", "/usr/share/elasticsearch/jdk/bin/java␀-Des.path.home=/x␀-cp␀/x/*␀org.elasticsearch.bootstrap.Elasticsearch␀-p␀/run/x.pid␀") +
			link(9, "fd/400", "/data/es/nodes/0/node.lock"), "elasticsearch", "/data/es/nodes/0", "/data/es/nodes/0", "absent"},
		"OpenSearch": {runs(9, 1, "java", "/usr/share/opensearch/jdk/bin/java␀-cp␀/x/*␀org.opensearch.bootstrap.OpenSearch␀"),
			"opensearch", "absent", "absent", "absent"},
		"SQL Server's log, in UTF-16": {runs(9, 1, "sqlservr", "sqlservr␀") + "-- var/opt/mssql/log/errorlog --\nM␀i␀c␀r␀osoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64)\n",
			"sqlserver", "/var/opt/mssql/data", "/var/opt/mssql/data", "16.0"},
	} {
		list := dbsOf(tree(t, c.archive))
		if len(list) != 1 {
			t.Errorf("%s: %+v", name, list)
			continue
		}
		d := list[0]
		got := strings.Join([]string{d.Kind, d.DataDir.Or(string(d.DataDir.State)), d.LogDir.Or(string(d.LogDir.State)), d.Version.Or(string(d.Version.State))}, " ")
		testkit.Is(t, strings.Join([]string{c.kind, c.data, c.log, c.version}, " "), got, name)
	}
}

// An application server is no database; one that is installed counts where none runs.
func TestApps(t *testing.T) {
	dispatcher := runs(9, 1, "dw.sapNPL_D00", "dw.sapNPL_D00␀") + runs(10, 9, "dw.sapNPL_D00", "dw.sapNPL_D00␀")
	for name, c := range map[string]struct {
		archive string
		pid, n  int
	}{
		"a dispatcher and its work process": {dispatcher, 9, 1},
		"installed":                         {"-- usr/sap/NPL/D00/ --\n-- usr/sap/HDB/HDB00/ --\n", 0, 1},
		"HANA alone":                        {"-- usr/sap/HDB/HDB00/ --\n", 0, 0},
	} {
		databases, apps := readServers(tree(t, c.archive))
		if len(databases) != 0 || len(apps) != c.n || c.n > 0 && (apps[0].PID != c.pid || apps[0].Kind != "sap") {
			t.Errorf("%s: %+v, %+v", name, databases, apps)
		}
	}
}

func TestRemoveIPC(t *testing.T) {
	for name, c := range map[string]struct{ archive, want string }{
		"nothing":                        {"-- x --\n", "absent"},
		"a comment":                      {"-- etc/systemd/logind.conf --\n[Login]\n#RemoveIPC=yes\n", "absent"},
		"the main file":                  {"-- etc/systemd/logind.conf --\n[Login]\nRemoveIPC=no\n", "no"},
		"a drop-in wins":                 {"-- etc/systemd/logind.conf --\n[Login]\nRemoveIPC=no\n-- usr/lib/systemd/logind.conf.d/1.conf --\n[Login]\nRemoveIPC=yes\n", "yes"},
		"one of /etc hides its namesake": {"-- usr/lib/systemd/logind.conf.d/1.conf --\n[Login]\nRemoveIPC=yes\n-- etc/systemd/logind.conf.d/1.conf --\n[Login]\nRemoveIPC=no\n", "no"},
	} {
		f := readRemoveIPC(tree(t, c.archive))
		testkit.Is(t, c.want, f.Or(string(f.State)), name)
	}
}

func TestCountMaps(t *testing.T) {
	const text = "7f00000000-7f00100000 rw-s 00000000 00:01 4 /dev/zero (deleted)\n7f00200000-7f00201000 r--p 00000000 00:00 0\n7f00300000-7f00400000 r--s 0 0:0 1 /x\n"
	if n, shared, err := countMaps(strings.NewReader(text), mostMaps); n != 3 || shared != 1<<20 || err != nil {
		t.Errorf("%d, %d, %v", n, shared, err)
	}
	if _, _, err := countMaps(strings.NewReader(text), 70); err == nil {
		t.Error("a part is taken for the whole")
	}
	if _, _, err := countMaps(strings.NewReader("zz-1 rw-s 0 0:0 1\n"), mostMaps); err == nil {
		t.Error("rubbish is accepted")
	}
}

func TestCountNodes(t *testing.T) {
	const text = "00400000 default file=/usr/bin/x mapped=9 N0=9 kernelpagesize_kB=4\n" +
		"7f00 interleave:0-1 file=/anon_hugepage\\040(deleted) huge dirty=6 N0=4 N1=2 kernelpagesize_kB=2048\n7f01 default\n"
	list, err := countNodes(strings.NewReader(text), []int{0, 1})
	if want := []int64{9<<12 + 4<<21, 2 << 21}; !slices.Equal(list, want) || err != nil {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
	for _, bad := range []string{"", "7f00 default N0=x kernelpagesize_kB=4\n", "7f00 default N5=1 kernelpagesize_kB=4\n"} {
		if list, err := countNodes(strings.NewReader(bad), []int{0, 1}); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
}

// What a server's configuration includes, and how many connections a MongoDB admits, is read where it stands.
func TestConfigurationOfServers(t *testing.T) {
	list := dbsOf(tree(t, runs(50, 1, "mysqld", "/usr/sbin/mysqld␀")+"-- etc/my.cnf --\n[mysqld]\n!includedir /etc/my.cnf.d/\n-- etc/my.cnf.d/10.cnf --\n[mysqld]\ninnodb_flush_method=fsync\n"))
	if len(list) != 1 || list[0].ConfDir.Or("") != "/etc/my.cnf.d" || list[0].Setting("innodb_flush_method").Source != "/etc/my.cnf.d/10.cnf" {
		t.Errorf("MySQL: %+v", list)
	}
	const mongod = "/usr/bin/mongod␀--config␀/etc/mongod.conf␀"
	for name, c := range map[string]struct{ args, conf, want, source string }{
		"its file":                       {mongod, "storage:\n  dbPath: /data\nnet:\n  port: 27017\n  maxIncomingConnections: 500\n", "500", "/etc/mongod.conf"},
		"its arguments":                  {mongod + "--maxConns␀700␀", "net:\n  maxIncomingConnections: 500\n", "700", "/proc/60/cmdline"},
		"another form":                   {mongod, "net: {port: 1, maxIncomingConnections: 500}\n", "error", "/etc/mongod.conf"},
		"no file":                        {"mongod␀--dbpath␀/data␀", "net:\n  maxIncomingConnections: 500\n", Default, "/proc/60/cmdline"},
		"a short name":                   {"mongod␀-f␀/etc/mongod.conf␀", "net:\n  maxIncomingConnections: 500\n", "500", "/etc/mongod.conf"},
		"a file by where it was started": {"mongod␀-f␀mongod.conf␀", "", "error", "mongod.conf"},
		"nothing":                        {mongod, "storage:\n  dbPath: /data\n", Default, "/etc/mongod.conf"},
	} {
		list := dbsOf(tree(t, runs(60, 1, "mongod", c.args)+"-- etc/mongod.conf --\n"+c.conf))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		if got := list[0].Setting("maxIncomingConnections"); got.Or(string(got.State)) != c.want || got.Source != c.source {
			t.Errorf("%s: %q from %s, want %q from %s", name, got.Or(string(got.State)), got.Source, c.want, c.source)
		}
	}
}

// Commits may wait for several logs: members on several disks, those of several databases, the binary log. Of each server one place
// on each file system is judged.
func TestMoreLogs(t *testing.T) {
	disks := twoNVMe + virtioDisk + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw", "2 1 259:1 / /redo rw - xfs /dev/nvme0n1p1 rw", "3 1 259:3 / /mirror rw - ext4 /dev/nvme1n1p1 rw,nobarrier")
	for name, c := range map[string]struct{ archive, want string }{
		"members of Oracle's log": {runs(9, 1, "ora_lgwr_X", "ora_lgwr_X␀") + link(9, "fd/7", "/redo/a/redo01.log") + link(9, "fd/8", "/mirror/redo01b.log") +
			link(9, "fd/9", "/redo/b/redo02.log"), "oracle log /redo/a, oracle log /mirror"},
		"databases of SQL Server": {runs(9, 1, "sqlservr", "sqlservr␀") + link(9, "fd/7", "/var/opt/mssql/data/mastlog.ldf") +
			link(9, "fd/8", "/redo/a_log.ldf") + link(9, "fd/9", "/mirror/b_log.LDF") + "-- var/opt/mssql/mssql.conf --\n[filelocation]\ndefaultlogdir=/redo\n",
			"sqlserver log /redo, sqlserver log /mirror"},
		"a binary log elsewhere":               {runs(9, 1, "mariadbd", "mariadbd␀--datadir=/redo␀--log-bin=/mirror/b␀--sync-binlog=1␀"), "mariadb log /redo, mariadb binary log /mirror"},
		"a binary log on the same file system": {runs(9, 1, "mariadbd", "mariadbd␀--datadir=/redo␀--log-bin=/redo/bin/b␀--sync-binlog=1␀"), "mariadb log /redo"},
	} {
		tr := tree(t, disks+c.archive)
		for _, dir := range []string{"/redo/a", "/redo/b", "/redo/bin", "/mirror", "/var/opt/mssql/data"} {
			withPath(t, tr, dir)
		}
		var got []string
		for _, s := range Collect(t.Context(), Options{Tree: tr}).Storage {
			got = append(got, s.Purpose+" "+s.Path)
			testkit.Is(t, ClassNVMe, s.Class.Or(""), name, s.Path, s.Class)
		}
		testkit.Is(t, c.want, strings.Join(got, ", "), name)
	}
}
