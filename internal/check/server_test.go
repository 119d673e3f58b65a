package check

import (
	"errors"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func shared(bytes, huge int64) func(d *host.Database) {
	return func(d *host.Database) {
		d.SharedMemory, d.HugePages = size(bytes, "/proc/700/maps"), size(huge, "/proc/700/status HugetlbPages")
	}
}

// set gives settings of a server by name and value.
func set(pairs ...string) func(d *host.Database) {
	return func(d *host.Database) {
		for i := 0; i+1 < len(pairs); i += 2 {
			d.Settings = append(d.Settings, host.ServerSetting{Name: pairs[i], Value: known(pairs[i+1], "/etc/server.conf")})
		}
	}
}

// confDir has a server read the files of a directory last.
func confDir(dir string) func(d *host.Database) {
	return func(d *host.Database) { d.ConfDir = known(dir, "/etc/my.cnf") }
}

func dataIn(dir string) func(d *host.Database) {
	return func(d *host.Database) { d.DataDir = known(dir, "/proc/700/cwd") }
}

// dataOn puts a directory on a file system.
func dataOn(dir, fsType string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Data = append(f.Data, host.Storage{Path: dir, FSType: known(fsType, "/proc/self/mountinfo")})
	}
}

func preload(list string) func(d *host.Database) {
	return func(d *host.Database) { d.Preload = known(list, "/proc/700/environ") }
}

// inFile has InnoDB's method of flushing stand in a file.
func inFile(value, file string) func(d *host.Database) {
	return func(d *host.Database) {
		d.Settings = append(d.Settings, host.ServerSetting{Name: "innodb_flush_method", Value: known(value, file)})
	}
}

func pool(pages, free, reserved int64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.HugePages, m.HugePagesFree = known(pages, "/proc/meminfo HugePages_Total"),
			known(free, "/proc/meminfo HugePages_Free")
		m.HugePagesReserved, m.HugePageSize = known(reserved, "/proc/meminfo HugePages_Rsvd"),
			size(2<<20, "/proc/meminfo Hugepagesize")
	})
}

// pools have an empty one of 2 MiB, the default size, and pages of 1 GiB beside it.
func pools(large, free int64) func(*host.Facts) {
	const dir = "/sys/kernel/mm/hugepages/"
	return func(f *host.Facts) {
		pool(0, 0, 0)(f)
		f.Memory.HugePools = []host.HugePool{
			{Size: 2 << 20, Pages: known[int64](0, dir+"hugepages-2048kB/nr_hugepages"),
				Free: known[int64](0, dir+"hugepages-2048kB/free_hugepages")},
			{Size: 1 << 30, Pages: known(large, dir+"hugepages-1048576kB/nr_hugepages"),
				Free: known(free, dir+"hugepages-1048576kB/free_hugepages")},
		}
	}
}

func killed(adj, mode int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Memory.Overcommit = known(mode, vmDir+"/overcommit_memory")
		serving("postgresql", func(d *host.Database) { d.OOMScoreAdj = known(adj, "/proc/700/oom_score_adj") })(f)
	}
}

const memoryMax = "/sys/fs/cgroup/system.slice/db.service/memory.max"

// within limits a server's memory; 0: without a limit. Processes of its group were killed.
func within(limit, kills int64) func(d *host.Database) {
	return func(d *host.Database) {
		d.Limits.CgroupV = known(2, "/proc/700/cgroup")
		d.Limits.MemoryHigh, d.Limits.MemoryMax = absent[int64]("memory.high"), absent[int64](memoryMax)
		if limit > 0 {
			d.Limits.MemoryMax = size(limit, memoryMax)
		}
		d.Limits.MemoryKills = known(kills, "/sys/fs/cgroup/system.slice/db.service/memory.events oom_kill")
	}
}

// reached is a limit that was reached, where all tasks of the group waited for a share of the last five minutes.
func reached(events int64, waited float64) func(d *host.Database) {
	return func(d *host.Database) {
		d.Limits.MemoryEvents = known(events, "/sys/fs/cgroup/system.slice/db.service/memory.events.local high max")
		d.Limits.MemoryStalled = known(waited, "/sys/fs/cgroup/system.slice/db.service/memory.pressure")
	}
}

// started has a server in the control group that systemd made for it, or that something else did.
func started(group string) func(d *host.Database) {
	return func(d *host.Database) { d.Limits.Cgroup = known(group, "/proc/700/cgroup") }
}

func startedBy(group string) func(*host.Facts) {
	return func(f *host.Facts) { started(group)(&f.Databases[0]) }
}

const dbService = "/system.slice/db.service"

func opens(n int64) func(d *host.Database) {
	return func(d *host.Database) { d.Limits.OpenFiles = known(n, "/proc/700/limits Max open files") }
}

func locks(bytes int64) func(d *host.Database) {
	return func(d *host.Database) { d.Limits.LockedBytes = size(bytes, "/proc/700/limits Max locked memory") }
}

func account(uid int) func(d *host.Database) {
	return func(d *host.Database) { d.UID = known(uid, "/proc/700/status Uid") }
}

func logind(v string) func(*host.Facts) {
	return kern(func(k *host.Kernel) {
		if k.RemoveIPC = known(v, "/etc/systemd/logind.conf"); v == "" {
			k.RemoveIPC = absent[string]("/etc/systemd/logind.conf")
		}
	})
}

var serverCases = []lookCase{
	{id: "SRV-001", name: "a large cache in small pages", want: Finding, evidence: "HugetlbPages = 0 B",
		detail: "a cache of 16 GiB, and no huge page",
		remedy: "echo vm.nr_hugepages=8192 | sudo tee /etc/sysctl.d/90-hostlab-vm.nr_hugepages.conf",
		facts:  also(pool(0, 0, 0), serving("postgresql", shared(16*gib, 0)))},
	{id: "SRV-001", name: "beside what another server has", want: Finding, remedy: "vm.nr_hugepages=9192",
		facts: also(pool(1100, 200, 100), serving("postgresql", shared(16*gib, 0)))},
	{id: "SRV-001", name: "a pool that is large enough", want: Finding, remedy: "vm.nr_hugepages=10000",
		facts: also(pool(10000, 9999, 0), serving("postgresql", shared(16*gib, 0)))},
	{id: "SRV-001", name: "that the server may not use", want: Finding, remedy: "alter system set huge_pages = try",
		facts: also(pool(0, 0, 0), serving("postgresql", set("huge_pages", "off"), shared(16*gib, 0)))},
	{id: "SRV-001", name: "InnoDB's, by its configuration", want: Finding, remedy: "large_pages=ON",
		facts: also(pool(0, 0, 0), serving("mysql", set("innodb_buffer_pool_size", "64G"), shared(0, 0)))},
	{id: "SRV-001", name: "a pool that nobody uses", want: Finding,
		detail: "8 GiB of reserved huge pages are used by nobody",
		facts:  also(pool(4096, 4096, 0), serving("postgresql", shared(gib, 0)))},
	{id: "SRV-001", name: "an idle pool of another size", want: Finding, remedy: "alter system set huge_page_size = 1GB",
		detail:   "66 GiB of reserved huge pages are used by nobody",
		evidence: "hugepages-1048576kB/free_hugepages = 66 of 66 pages of 1 GiB",
		facts:    also(pools(66, 66), serving("postgresql", version("15"), shared(66*gib, 0)))},
	{id: "SRV-001", name: "an idle pool of another size, for a server that cannot choose", want: Finding,
		remedy: "give those of 1 GiB back first",
		facts:  also(pools(66, 66), serving("mysql", version("8.0.40"), set("innodb_buffer_pool_size", "64G"), shared(0, 0)))},
	{id: "SRV-001", name: "an idle pool of another size, and a version that no file tells", want: Finding,
		remedy: "from PostgreSQL 14 on",
		facts:  also(pools(66, 66), serving("postgresql", shared(66*gib, 0)))},
	{id: "SRV-001", name: "an idle pool of another size that is too small", want: Finding, remedy: "vm.nr_hugepages=33792",
		facts: also(pools(8, 8), serving("postgresql", version("15"), shared(66*gib, 0)))},
	{id: "SRV-001", name: "an idle pool of another size that nobody needs", want: Finding,
		detail: "8 GiB of reserved huge pages", facts: also(pools(8, 8), serving("postgresql", shared(gib, 0)))},
	{id: "SRV-001", name: "a pool of another size that is used", want: OK,
		facts: also(pools(66, 1), serving("postgresql", shared(66*gib, 65*gib)))},
	{id: "SRV-004", name: "Oracle's locked memory, in pages of another size", want: Finding,
		remedy: "LimitMEMLOCK=infinity",
		facts:  also(pools(8, 0), serving("oracle", started(dbService), locks(gib)))},
	{id: "SRV-001", name: "a pool that is promised", want: OK,
		facts: also(pool(4096, 4096, 4096), serving("postgresql", shared(8*gib, 2<<20)))},
	{id: "SRV-001", name: "a large cache in huge pages", want: OK,
		facts: also(pool(8192, 0, 0), serving("oracle", shared(16*gib, 16*gib)))},
	{id: "SRV-001", name: "a small cache", want: OK, facts: also(pool(0, 0, 0), serving("postgresql", shared(gib, 0)))},
	{id: "SRV-001", name: "HANA", want: NotApplicable, facts: also(pool(0, 0, 0), serving("hana", shared(900*gib, 0)))},
	{id: "SRV-001", name: "of an unknown size", want: Unknown,
		facts: serving("postgresql", shared(16*gib, 0), func(d *host.Database) {
			d.SharedMemory = denied[int64]("/proc/700/maps")
		})},

	{id: "SRV-002", name: "as any other process", want: Finding, evidence: "oom_score_adj = 0",
		remedy: "echo -1000 | sudo tee /proc/700/oom_score_adj", facts: killed(0, 0)},
	{id: "SRV-002", name: "a unit's", want: Finding,
		facts: also(killed(0, 0), startedBy("/system.slice/system-postgresql.slice/postgresql@15-main.service")),
		remedy: `printf '[Service]\n%s\n%s\n' OOMScoreAdjust=-1000 Environment=PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj | ` +
			"sudo tee /etc/systemd/system/postgresql@15-main.service.d/90-hostlab-oom.conf"},
	{id: "SRV-002", name: "Debian's unit", want: OK, facts: killed(-900, 0)},
	{id: "SRV-002", name: "strict overcommit", want: OK, facts: killed(0, 2)},
	{id: "SRV-002", name: "MariaDB", want: NotApplicable, facts: serving("mariadb")},
	{id: "SRV-002", name: "denied", want: Unknown,
		facts: serving("postgresql", func(d *host.Database) { d.OOMScoreAdj = denied[int64]("/proc/700/oom_score_adj") })},

	{id: "SRV-003", name: "killed", want: Finding, detail: "has had 12 processes of its group killed",
		remedy: "docker update --memory", facts: serving("redis", within(4*gib, 12))},
	{id: "SRV-003", name: "waiting for memory", want: Finding, detail: "in 2.0 % of the last five minutes",
		facts: serving("redis", within(4*gib, 0), reached(7, 0.02))},
	{id: "SRV-003", name: "reached, as file cache does", want: OK, evidence: "high max = 5000",
		facts: serving("redis", within(4*gib, 0), reached(5000, 0.005))},
	{id: "SRV-003", name: "a unit's, killed", want: Finding,
		remedy: "MemoryMax=infinity | sudo tee /etc/systemd/system/db.service.d/90-hostlab-memory.conf",
		facts:  serving("redis", started(dbService), within(4*gib, 12))},
	{id: "SRV-003", name: "a slice's", want: Finding,
		remedy: `printf '[Slice]\n%s\n' MemoryMax=infinity | sudo tee /etc/systemd/system/system.slice.d/90-hostlab-memory.conf`,
		facts: serving("redis", started(dbService), within(4*gib, 12),
			func(d *host.Database) { d.Limits.MemoryMax.Source = "/sys/fs/cgroup/system.slice/memory.max" })},
	{id: "SRV-003", name: "too near", want: Finding, detail: "maps 8 GiB of shared memory, and its group may have 9 GiB",
		facts: serving("postgresql", within(9*gib, 0), shared(8*gib, 0))},
	{id: "SRV-003", name: "enough", want: OK, facts: serving("postgresql", within(10*gib, 0), shared(8*gib, 0))},
	{id: "SRV-003", name: "no limit, whatever was counted", want: OK, facts: serving("mongodb", within(0, 3))},
	{id: "SRV-003", name: "no server", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "SRV-003", name: "denied", want: Unknown,
		facts: serving("db2", func(d *host.Database) { d.Limits.MemoryMax = denied[int64](memoryMax) })},

	{id: "SRV-004", name: "HANA's files", want: Finding, remedy: "/etc/security/limits.d",
		facts: serving("hana", opens(65536))},
	{id: "SRV-004", name: "a unit's", want: Finding,
		remedy: "LimitNOFILE=64000:infinity | sudo tee /etc/systemd/system/db.service.d/90-hostlab-nofile.conf",
		facts:  serving("mongodb", started(dbService), opens(1024))},
	{id: "SRV-004", name: "Oracle's locked memory", want: Finding, remedy: "LimitMEMLOCK=infinity",
		facts: also(pool(4096, 0, 0), serving("oracle", started(dbService), locks(64<<10)))},
	{id: "SRV-004", name: "Oracle may lock all", want: OK, facts: also(pool(4096, 0, 0), serving("oracle", locks(8*gib)))},
	{id: "SRV-004", name: "Elasticsearch's files", want: Finding, detail: "65535 is recommended",
		facts: serving("elasticsearch", opens(4096))},
	{id: "SRV-004", name: "OpenSearch as its package has it", want: OK, facts: serving("opensearch", opens(65535))},
	{id: "SRV-004", name: "MongoDB", want: OK, facts: serving("mongodb", opens(64000))},
	{id: "SRV-004", name: "PostgreSQL", want: NotApplicable, facts: serving("postgresql", opens(1024))},
	{id: "SRV-004", name: "an instance that is installed only", want: NotApplicable,
		facts: serving("sap", func(d *host.Database) { d.PID = 0 })},
	{id: "SRV-004", name: "denied", want: Unknown,
		facts: serving("hana", func(d *host.Database) { d.Limits.OpenFiles = denied[int64]("/proc/700/limits") })},

	{id: "SRV-005", name: "a person's account", want: Finding, evidence: "/proc/700/status Uid = 1000",
		remedy: "RemoveIPC=no",
		facts:  also(logind("yes"), serving("postgresql", account(1000)))},
	{id: "SRV-005", name: "a person's account, and the upstream default", want: Finding,
		facts: also(logind(""), serving("oracle", account(54321)))},
	{id: "SRV-005", name: "Red Hat's default", want: NotApplicable,
		facts: also(logind(""), serving("oracle", account(54321)), system("Red Hat Enterprise Linux 9.4", "amd64"))},
	{id: "SRV-005", name: "off", want: OK, facts: also(logind("no"), serving("oracle", account(54321)))},
	{id: "SRV-005", name: "a system account", want: OK, facts: also(logind(""), serving("postgresql", account(112)))},
	{id: "SRV-005", name: "MariaDB", want: NotApplicable, facts: also(logind(""), serving("mariadb", account(1000)))},
	{id: "SRV-005", name: "denied", want: Unknown,
		facts: serving("postgresql", account(1000), func(d *host.Database) { d.UID = denied[int]("/proc/700/status") })},

	{id: "SRV-006", name: "fsync off", want: Finding, evidence: "/etc/server.conf fsync = off", detail: "fsync is off",
		remedy: "sudo -u '#112' psql -d postgres -c 'alter system set fsync = on'",
		facts:  serving("postgresql", account(112), set("fsync", "off"))},
	{id: "SRV-006", name: "fsync off in its arguments", want: Finding, remedy: "it is in the server's arguments",
		facts: serving("postgresql", func(d *host.Database) {
			d.Settings = []host.ServerSetting{{Name: "fsync", Value: known("off", "/proc/700/cmdline")}}
		})},
	{id: "SRV-006", name: "PostgreSQL's default", want: OK,
		facts: serving("postgresql", set("fsync", host.Default, "wal_sync_method", host.Default))},
	{id: "SRV-006", name: "buffered InnoDB", want: Finding, detail: "through the page cache",
		remedy: "# change innodb_flush_method to O_DIRECT in the file that is named above",
		facts:  serving("mysql", set("innodb_flush_method", "fsync", "innodb_use_native_aio", host.Default))},
	{id: "SRV-006", name: "buffered InnoDB, with a directory for files", want: Finding,
		remedy: "printf '[mysqld]\\n%s\\n' innodb_flush_method=O_DIRECT | sudo tee " +
			"/etc/my.cnf.d/90-hostlab-innodb_flush_method.cnf",
		facts: serving("mysql", confDir("/etc/my.cnf.d"), inFile("fsync", "/etc/my.cnf.d/50-server.cnf"))},
	{id: "SRV-006", name: "where a later file wins", want: Finding,
		remedy: "# change innodb_flush_method to O_DIRECT in the file that is named above",
		facts:  serving("mysql", confDir("/etc/my.cnf.d"), inFile("fsync", "/etc/my.cnf.d/zz.cnf"))},
	{id: "SRV-006", name: "where the main file has it", want: Finding,
		remedy: "# change innodb_flush_method to O_DIRECT in the file that is named above",
		facts:  serving("mysql", confDir("/etc/my.cnf.d"), inFile("fsync", "/etc/my.cnf"))},
	{id: "SRV-006", name: "persisted", want: Finding,
		evidence: "/var/lib/mysql/mysqld-auto.cnf innodb_flush_method = fsync",
		remedy:   "mysql -e 'set persist_only innodb_flush_method = O_DIRECT'",
		facts:    serving("mysql", confDir("/etc/my.cnf.d"), inFile("fsync", "/var/lib/mysql/mysqld-auto.cnf"))},
	{id: "SRV-006", name: "in its arguments", want: Finding, remedy: "is in the server's arguments",
		facts: serving("mysql", confDir("/etc/my.cnf.d"), inFile("fsync", "/proc/700/cmdline"))},
	{id: "SRV-006", name: "a directory of an odd name", want: Finding,
		remedy: "| sudo tee '/etc/my cnf$(id)/90-hostlab-innodb_flush_method.cnf'",
		facts:  serving("mysql", confDir("/etc/my cnf$(id)"), inFile(host.Default, "/etc/my.cnf"), version("8.0.40"))},
	{id: "SRV-006", name: "buffered by default", want: Finding, evidence: "default, fsync",
		facts: serving("mariadb", version("10.5.20"),
			set("innodb_flush_method", host.Default, "innodb_use_native_aio", host.Default))},
	{id: "SRV-006", name: "no native AIO", want: Finding, detail: "asynchronous I/O",
		facts: serving("mariadb", version("10.11.6"),
			set("innodb_flush_method", host.Default, "innodb_use_native_aio", "OFF"))},
	{id: "SRV-006", name: "direct by default", want: OK, evidence: "default, O_DIRECT",
		facts: serving("mariadb", version("10.11.6"),
			set("innodb_flush_method", host.Default, "innodb_use_native_aio", host.Default))},
	{id: "SRV-006", name: "SQL Server without a forced flush", want: Finding, remedy: "control.writethrough 1",
		facts: serving("sqlserver", set("traceflag0", "3979", "traceflag1", host.Default, "writethrough", host.Default))},
	{id: "SRV-006", name: "SQL Server with forced unit access", want: OK,
		facts: serving("sqlserver", set("traceflag0", "3979", "traceflag1", host.Default, "writethrough", "1"))},
	{id: "SRV-006", name: "PostgreSQL's commits that do not wait", want: Finding, detail: "loses the last commits",
		remedy: "alter system set synchronous_commit = on",
		facts:  serving("postgresql", set("fsync", "on", "synchronous_commit", "off"))},
	{id: "SRV-006", name: "PostgreSQL's half pages", want: Finding, detail: "half written",
		facts: serving("postgresql", set("full_page_writes", "off"))},
	{id: "SRV-006", name: "PostgreSQL's half pages on ZFS", want: OK,
		facts: also(serving("postgresql", set("full_page_writes", "off", "fsync", "on"), dataIn("/tank/pg")),
			dataOn("/tank/pg", "zfs"))},
	{id: "SRV-006", name: "PostgreSQL's safe methods", want: OK,
		facts: serving("postgresql", set("fsync", "on", "synchronous_commit", "remote_apply", "wal_sync_method",
			"open_datasync"))},
	{id: "SRV-006", name: "a method of PostgreSQL that nobody knows", want: Unknown,
		detail: "show wal_sync_method asks the server",
		facts:  serving("postgresql", set("fsync", "on", "wal_sync_method", "uring"))},
	{id: "SRV-006", name: "a value that host did not know", want: Unknown,
		detail: `hostlab does not know the value "x" of fsync`, facts: serving("postgresql", func(d *host.Database) {
			d.Settings = []host.ServerSetting{{Name: "fsync",
				Value: host.Unknown[string]("/etc/pg.conf", errors.New(`hostlab does not know the value "x" of fsync`))}}
		})},
	{id: "SRV-006", name: "InnoDB flushes once a second", want: Finding, detail: "but once a second",
		remedy: "innodb_flush_log_at_trx_commit", facts: serving("mysql", set("innodb_flush_log_at_trx_commit", "2"))},
	{id: "SRV-006", name: "MariaDB's third way", want: OK,
		facts: serving("mariadb", set("innodb_flush_log_at_trx_commit", "3"))},
	{id: "SRV-006", name: "which MySQL has not", want: Unknown,
		facts: serving("mysql", set("innodb_flush_log_at_trx_commit", "3"))},
	{id: "SRV-006", name: "a binary log that is not waited for", want: Finding, detail: "do not wait for the binary log",
		evidence: "sync_binlog = 0",
		facts:    serving("mysql", set("log_bin", "ON", "sync_binlog", "0"))},
	{id: "SRV-006", name: "nor at each commit", want: Finding,
		facts: serving("mysql", set("log_bin", "ON", "sync_binlog", "100"))},
	{id: "SRV-006", name: "MariaDB's default", want: Finding, evidence: "sync_binlog = default, 0",
		facts: serving("mariadb", set("log_bin", "ON", "sync_binlog", host.Default))},
	{id: "SRV-006", name: "MySQL's default", want: OK, evidence: "sync_binlog = default, 1",
		facts: serving("mysql", version("8.0.40"), set("log_bin", "ON", "sync_binlog", host.Default))},
	{id: "SRV-006", name: "MySQL 8's default log", want: Finding,
		facts: serving("mysql", version("8.0.40"), set("log_bin", host.Default, "sync_binlog", "0"))},
	{id: "SRV-006", name: "no binary log", want: OK,
		facts: serving("mariadb", set("log_bin", host.Default, "sync_binlog", "0", "innodb_flush_log_at_trx_commit", "1"))},
	{id: "SRV-006", name: "InnoDB's half pages", want: Finding, detail: "half written",
		facts: serving("mysql", set("innodb_doublewrite", "DETECT_ONLY"))},
	{id: "SRV-006", name: "MariaDB 11's data through the page cache", want: Finding, detail: "through the page cache",
		facts: serving("mariadb", version("11.4.2"), set("innodb_data_file_buffering", "ON"))},
	{id: "SRV-006", name: "Percona's method", want: OK,
		facts: serving("mysql", version("5.7.44"), set("innodb_flush_method", "ALL_O_DIRECT"))},
	{id: "SRV-006", name: "O_DSYNC before MariaDB 11", want: Finding,
		facts: serving("mariadb", version("10.11.6"), set("innodb_flush_method", "O_DSYNC"))},
	{id: "SRV-006", name: "O_DSYNC from MariaDB 11 on", want: OK,
		facts: serving("mariadb", version("11.4.2"), set("innodb_flush_method", "O_DSYNC"))},
	{id: "SRV-006", name: "a method of InnoDB that nobody knows", want: Unknown,
		detail: "show global variables like 'innodb_flush_method'",
		facts:  serving("mysql", set("innodb_flush_method", "io_uring"))},
	{id: "SRV-006", name: "MariaDB for tests", want: Finding, detail: "flushes nothing",
		facts: serving("mariadb", set("debug_no_sync", "ON"))},
	{id: "SRV-006", name: "eatmydata", want: Finding, detail: "takes its flushes away", remedy: "LD_PRELOAD",
		facts: serving("postgresql", set("fsync", "on"), preload("libjemalloc.so libeatmydata.so"))},
	{id: "SRV-006", name: "another allocator", want: OK,
		facts: serving("postgresql", set("fsync", "on"), preload("libjemalloc.so"))},
	{id: "SRV-006", name: "SQL Server's flag of any number", want: Finding, evidence: "traceflag7 = 3979",
		facts: serving("sqlserver", set("traceflag7", "3979", "writethrough", host.Default))},
	{id: "SRV-006", name: "Redis", want: NotApplicable, facts: serving("redis")},
	{id: "SRV-006", name: "denied", want: Unknown, facts: serving("postgresql", func(d *host.Database) {
		d.Settings = []host.ServerSetting{{Name: "fsync", Value: denied[string]("/data/postgresql.auto.conf")}}
	})},
}

// Data that may be lost weigh more than data that are kept twice.
func TestSyncWeighs(t *testing.T) {
	for setting, want := range map[string]Severity{"innodb_flush_method=nosync": High, "innodb_flush_method=fsync": Medium,
		"innodb_data_file_buffering=ON":    Medium,
		"innodb_flush_log_at_trx_commit=0": High, "innodb_doublewrite=OFF": High, "innodb_use_native_aio=OFF": Medium,
		"debug_no_sync=ON": High} {
		name, value, _ := strings.Cut(setting, "=")
		if r := (lookCase{id: "SRV-006", facts: serving("mariadb", version("11.4.2"),
			set(name, value))}).run(t); r.Status != Finding || r.Severity != want {
			t.Errorf("%s is %s %s, want %s", setting, r.Status, r.Severity, want)
		}
	}
	testkit.Is(t, Medium, (lookCase{id: "SRV-006", facts: serving("mariadb",
		set("log_bin", "ON", "sync_binlog", "0"))}).run(t).Severity, "a binary log that is not waited for is")
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if r := (lookCase{id: "SRV-006", facts: serving("postgresql", set(name, "off"))}).run(t); r.Severity != High {
			t.Errorf("%s is %s", name, r.Severity)
		}
	}
}

// The remedy of a check of servers is for each of them, and what holds for all is said once.
func TestRemedyIsForEachServer(t *testing.T) {
	f := &host.Facts{}
	for pid, unit := range map[int]string{700: "pg-a.service", 800: "pg-b.service"} {
		d := host.Database{Kind: "postgresql", PID: pid, OOMScoreAdj: known[int64](0, "/proc/x/oom_score_adj")}
		d.Limits.Cgroup = known("/system.slice/"+unit, "/proc/x/cgroup")
		d.Limits.MemoryMax, d.Limits.MemoryKills = known[int64](1<<30, "/sys/fs/cgroup/system.slice/"+unit+"/memory.max"),
			known[int64](3, "events")
		f.Databases = append(f.Databases, d)
	}
	f.Memory.Overcommit = known[int64](0, "/proc/sys/vm/overcommit_memory")
	for _, id := range []string{"SRV-002", "SRV-003"} {
		c := testkit.Must(Find(id))(t)
		r := runOne(f, ProductionDB, c)
		for _, unit := range []string{"pg-a.service.d", "pg-b.service.d"} {
			if r.Status != Finding || !strings.Contains(r.Remedy, unit) {
				t.Errorf("%s: the remedy leaves %s as it is: %s", id, unit, r.Remedy)
			}
		}
		if n := strings.Count(r.Remedy, "restart it when you can"); n > 1 {
			t.Errorf("%s says %d times that the server has to be restarted", id, n)
		}
	}
}

// Of several servers each that is set wrongly is named, so that none that may lose commits stands behind one that is
// slow.
func TestSyncNamesEachServer(t *testing.T) {
	my := host.Database{Kind: "mariadb", PID: 600, Version: known("10.5.1", "v")}
	pg := host.Database{Kind: "postgresql", PID: 700, UID: known(26, "u")}
	set("innodb_flush_method", host.Default, "innodb_use_native_aio", host.Default)(&my)
	set("fsync", "off", "wal_sync_method", host.Default)(&pg)
	c := testkit.Must(Find("SRV-006"))(t)
	r := runOne(&host.Facts{Databases: []host.Database{my, pg}}, ProductionDB, c)
	if r.Severity != High || !strings.Contains(r.Detail, "fsync is off") || !strings.Contains(r.Detail, "page cache") ||
		!strings.Contains(r.Remedy, "fsync = on") || !strings.Contains(r.Remedy, "O_DIRECT") {
		t.Errorf("%s: %s\n%s", r.Severity, r.Detail, r.Remedy)
	}
}
