package check

import (
	"math"
	"slices"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// serving adds a server to a host, with what its process has.
func serving(kind string, change ...func(d *host.Database)) func(*host.Facts) {
	return func(f *host.Facts) {
		d := host.Database{Kind: kind, PID: 700}
		for _, c := range change {
			c(&d)
		}
		if kind == "sap" {
			f.Apps = append(f.Apps, d)
		} else {
			f.Databases = append(f.Databases, d)
		}
	}
}

// also applies several changes.
func also(changes ...func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		for _, c := range changes {
			c(f)
		}
	}
}

func version(v string) func(d *host.Database) {
	return func(d *host.Database) { d.Version = known(v, "/data/PG_VERSION") }
}

func mapped(n int64) func(d *host.Database) {
	return func(d *host.Database) { d.Maps = known(n, "/proc/700/maps") }
}

// system names the operating system and the processor.
func system(name, arch string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Identity.OS, f.Identity.Arch = known(name, "/etc/os-release"), known(arch, "uname")
	}
}

const quotaFile = "/sys/fs/cgroup/system.slice/db.service/cpu.max"

// quota limits the group of a server that may run on eight CPUs; below 0, it has no quota.
func quota(cpus float64, periods, throttled int64) func(d *host.Database) {
	return func(d *host.Database) {
		d.Limits.CgroupV = known(2, "/proc/700/cgroup")
		d.Limits.Affinity = known(upTo(8), "/proc/700/status Cpus_allowed_list")
		d.Limits.CPUQuota = absent[float64](quotaFile)
		d.Limits.CPUPeriods, d.Limits.CPUThrottled = absent[int64]("cpu.stat"), absent[int64]("cpu.stat")
		if cpus > 0 {
			d.Limits.CPUQuota = known(cpus, quotaFile)
			d.Limits.CPUPeriods = known(periods, "/sys/fs/cgroup/system.slice/db.service/cpu.stat nr_periods")
			d.Limits.CPUThrottled = known(throttled, "/sys/fs/cgroup/system.slice/db.service/cpu.stat nr_throttled")
		}
	}
}

func onCPUs(n int) func(d *host.Database) {
	return func(d *host.Database) { d.Limits.Affinity = known(upTo(n), "/proc/700/status Cpus_allowed_list") }
}

func online(n int) func(*host.Facts) {
	return func(f *host.Facts) { f.Topology.Online = known(upTo(n), "/sys/devices/system/cpu/online") }
}

func aio(limit, used uint64) func(*host.Facts) {
	return kern(func(k *host.Kernel) {
		k.AIOMaxNr, k.AIONr = known(limit, "/proc/sys/fs/aio-max-nr"), known(used, "/proc/sys/fs/aio-nr")
	})
}

func pids(limit, threads int64) func(*host.Facts) {
	return kern(func(k *host.Kernel) {
		k.PIDMax, k.Threads = known(limit, kernDir+"/pid_max"), known(threads, "/proc/loadavg")
	})
}

func mapLimit(n int64) func(*host.Facts) {
	return mem(func(m *host.Memory) { m.MaxMapCount = known(n, vmDir+"/max_map_count") })
}

func segmentLimit(n int64) func(*host.Facts) {
	return mem(func(m *host.Memory) { m.ShmMni = known(n, kernDir+"/shmmni") })
}

func semaphores(v ...int) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.Sem = known(v, kernDir+"/sem") })
}

const (
	always  = "[always] madvise never"
	madvise = "always [madvise] never"
	never   = "always madvise [never]"
)

var engineCases = []lookCase{
	{id: "MEM-001", name: "MongoDB 8 wants always", want: Finding, detail: "MongoDB wants always", remedy: "echo always",
		facts: also(huge(never, "never"), serving("mongodb", version("8.0.4")), system("Ubuntu 24.04", "amd64"))},
	{id: "MEM-001", name: "MongoDB 8 has always", want: OK, detail: "MongoDB wants",
		facts: also(huge(always, "defer+madvise"), serving("mongodb", version("8.0.4")), system("Ubuntu 24.04", "amd64"))},
	{id: "MEM-001", name: "MongoDB 8 on a processor with the old allocator", want: Finding,
		facts: also(huge(always, "madvise"), serving("mongodb", version("8.0.4")), system("RHEL 9", "ppc64le"))},
	{id: "MEM-001", name: "MongoDB 7", want: Finding, remedy: "echo never",
		facts: also(huge(always, "madvise"), serving("mongodb", version("7.0.5")))},
	{id: "MEM-001", name: "MongoDB of a version that no file tells", want: NotApplicable,
		detail: "no file tells the version of MongoDB (process 700)",
		facts:  also(huge(always, "madvise"), serving("mongodb"))},
	{id: "MEM-001", name: "SQL Server with never", want: Finding, detail: "SQL Server wants always or madvise",
		facts: huge(never, "madvise", "sqlserver")},
	{id: "MEM-001", name: "HANA on SLES 15 SP4", want: Finding, detail: "SAP HANA wants never", remedy: "echo never",
		facts: also(huge(madvise, "madvise", "hana"), system("SUSE Linux Enterprise Server 15 SP4", "amd64"))},
	{id: "MEM-001", name: "HANA on SLES 15 SP5", want: Finding, detail: "SAP HANA wants madvise", remedy: "echo madvise",
		facts: also(huge(never, "madvise", "hana"), system("SUSE Linux Enterprise Server for SAP Applications 15 SP5",
			"amd64"))},
	{id: "MEM-001", name: "HANA on SLES 16", want: OK,
		facts: also(huge(madvise, "madvise", "hana"), system("SUSE Linux Enterprise Server 16.0", "amd64"))},
	{id: "MEM-001", name: "Oracle", want: OK, facts: huge(madvise, "madvise", "oracle")},
	{id: "MEM-001", name: "servers that want different values", want: NotApplicable,
		detail: "MongoDB always; SAP HANA never",
		facts: also(huge(always, "madvise"), serving("mongodb", version("8.0")), serving("hana"),
			system("SUSE Linux Enterprise Server 15 SP3", "amd64"))},

	{id: "MEM-007", name: "PostgreSQL needs few", want: OK, evidence: "/proc/700/maps = 210 of 65530",
		facts: also(mapLimit(65530), serving("postgresql", mapped(210)))},
	{id: "MEM-007", name: "a server that comes near", want: Finding, detail: "MongoDB (process 700) has 60000 mappings",
		remedy: "vm.max_map_count=1048576",
		facts:  also(mapLimit(65530), serving("mongodb", mapped(60000)))},
	{id: "MEM-007", name: "not enough for MongoDB's connections", want: Finding,
		detail: "102400 that are recommended for 51200 connections of MongoDB",
		remedy: "vm.max_map_count=1048576", facts: also(mapLimit(65530), serving("mongodb", mapped(200), opens(64000)))},
	{id: "MEM-007", name: "of as many files as containers give", want: Finding, remedy: "vm.max_map_count=1677720",
		facts: also(mapLimit(1048576), serving("mongodb", mapped(200), opens(1048576)))},
	{id: "MEM-007", name: "enough for MongoDB's connections", want: OK,
		facts: also(mapLimit(102400), serving("mongodb", mapped(200), opens(64000)))},
	{id: "MEM-007", name: "enough for those that its configuration admits", want: OK,
		evidence: "maxIncomingConnections = 20000",
		facts:    also(mapLimit(65530), serving("mongodb", mapped(200), opens(64000), set("maxIncomingConnections", "20000")))},
	{id: "MEM-007", name: "a configuration that may not be read", want: Unknown,
		facts: also(mapLimit(65530), serving("mongodb", mapped(200), opens(64000), func(d *host.Database) {
			d.Settings = []host.ServerSetting{{Name: "maxIncomingConnections", Value: denied[string]("/etc/mongod.conf")}}
		}))},
	{id: "MEM-007", name: "not enough for SQL Server", want: Finding, remedy: "=1600000",
		facts: also(mapLimit(65530), serving("sqlserver", mapped(500)))},
	{id: "MEM-007", name: "enough for SQL Server", want: OK, facts: also(mapLimit(262144), serving("sqlserver"))},
	{id: "MEM-007", name: "not enough for Elasticsearch", want: Finding,
		detail: "262144 that are recommended for Elasticsearch", remedy: "=1048576",
		facts: also(mapLimit(65530), serving("elasticsearch", mapped(900)))},
	{id: "MEM-007", name: "enough for OpenSearch", want: OK,
		facts: also(mapLimit(262144), serving("opensearch", mapped(900)))},
	{id: "MEM-007", name: "not enough for HANA", want: Finding, remedy: "=2147483647",
		facts: also(mapLimit(1600000), serving("sqlserver"), serving("hana"))},
	{id: "MEM-007", name: "not enough for an application server", role: ProductionApp, want: Finding,
		remedy: "=2147483647", facts: also(mapLimit(1048576), serving("sap"))},
	{id: "MEM-007", name: "SAP notes", role: ProductionApp, want: OK, facts: also(mapLimit(2147483647), serving("sap"))},
	{id: "MEM-007", name: "no server", want: NotApplicable,
		detail: "would apply to any database server; no server is seen", facts: mapLimit(65530)},
	{id: "MEM-007", name: "mappings that may not be read", want: Unknown,
		facts: also(mapLimit(65530), serving("postgresql",
			func(d *host.Database) { d.Maps = denied[int64]("/proc/700/maps") }))},

	{id: "MEM-008", name: "half of memory", role: ProductionApp, facts: also(shm(32*gib, 16*gib), serving("sap")),
		want: Finding, detail: "60 GiB", remedy: "remount,size=61441M"},
	{id: "MEM-008", name: "enough", role: ProductionApp, facts: also(shm(60*gib, 16*gib), serving("sap")), want: OK},
	{id: "MEM-008", name: "a database", facts: also(shm(32*gib, 16*gib), serving("postgresql", version("15"))),
		want:   NotApplicable,
		detail: "would apply to SAP application server; here is PostgreSQL"},
	{id: "MEM-008", name: "swap denied", role: ProductionApp, want: Unknown,
		facts: also(shm(32*gib, 0), serving("sap"), func(f *host.Facts) {
			f.Memory.SwapTotal = denied[int64]("/proc/meminfo")
		})},

	{id: "KRN-001", name: "default with HANA", want: Finding, remedy: "kernel.shmmni=32768",
		facts: also(segmentLimit(4096), serving("hana"))},
	{id: "KRN-001", name: "default with an SAP instance", role: ProductionApp, want: Finding,
		facts: also(segmentLimit(4096), serving("sap"))},
	{id: "KRN-001", name: "raised", want: OK, facts: also(segmentLimit(32768), serving("hana"))},
	{id: "KRN-001", name: "Oracle needs fewer", want: OK, facts: also(segmentLimit(4096), serving("oracle"))},
	{id: "KRN-001", name: "PostgreSQL", want: NotApplicable,
		detail: "would apply to SAP HANA, SAP application server and Oracle",
		facts:  also(segmentLimit(128), serving("postgresql"))},
	{id: "KRN-001", name: "denied", want: Unknown,
		facts: also(serving("hana"), mem(func(m *host.Memory) { m.ShmMni = denied[int64](kernDir + "/shmmni") }))},

	{id: "KRN-004", name: "Oracle's with an SAP instance", role: ProductionApp, want: Finding,
		evidence: "sem = 250 32000 100 128",
		remedy:   "echo 'kernel.sem=32000 1024000000 500 32000' | sudo tee /etc/sysctl.d/90-hostlab-kernel.sem.conf",
		facts:    also(semaphores(250, 32000, 100, 128), serving("sap"))},
	{id: "KRN-004", name: "Oracle's with Oracle", want: OK,
		facts: also(semaphores(250, 32000, 100, 128), serving("oracle"))},
	{id: "KRN-004", name: "less with Oracle", want: Finding,
		facts: also(semaphores(250, 32000, 32, 128), serving("oracle"))},
	{id: "KRN-004", name: "kernel's default", want: OK,
		facts: also(semaphores(32000, 1024000000, 500, 32000), serving("hana"))},
	{id: "KRN-004", name: "PostgreSQL", want: NotApplicable, facts: also(semaphores(1, 1, 1, 1), serving("postgresql"))},
	{id: "KRN-004", name: "garbled", want: Unknown, evidence: "expected 4 numbers, found 2",
		facts: also(semaphores(1, 2), serving("hana"))},

	{id: "KRN-005", name: "half of them taken", want: Finding, evidence: "pid_max = 32768", detail: "20000 threads",
		remedy: "=4194304", facts: pids(32768, 20000)},
	{id: "KRN-005", name: "few threads", want: OK, facts: pids(32768, 400)},
	{id: "KRN-005", name: "HANA on SLES 15", want: Finding,
		facts: also(pids(32768, 400), serving("hana"), system("SUSE Linux Enterprise Server 15 SP5", "amd64"))},
	{id: "KRN-005", name: "HANA on SLES 16", want: OK,
		facts: also(pids(32768, 400), serving("hana"), system("SUSE Linux Enterprise Server 16.0", "amd64"))},
	{id: "KRN-005", name: "PostgreSQL on SLES 15", want: OK,
		facts: also(pids(32768, 400), serving("postgresql"), system("SUSE Linux Enterprise Server 15 SP5", "amd64"))},
	{id: "KRN-005", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "KRN-005", name: "denied", want: Unknown,
		facts: also(pids(1, 1), kern(func(k *host.Kernel) { k.PIDMax = denied[int64](kernDir + "/pid_max") }))},

	{id: "KRN-006", name: "nearly all reserved", want: Finding, detail: "60000 are reserved",
		remedy: "fs.aio-max-nr=1048576", facts: also(aio(65536, 60000), serving("mariadb"))},
	{id: "KRN-006", name: "PostgreSQL reserves none", want: OK, facts: also(aio(65536, 0), serving("postgresql"))},
	{id: "KRN-006", name: "Oracle", want: Finding, remedy: "fs.aio-max-nr=1048576",
		facts: also(aio(65536, 1), serving("oracle"))},
	{id: "KRN-006", name: "Oracle's value", want: OK, facts: also(aio(1048576, 1), serving("oracle"))},
	{id: "KRN-006", name: "HANA wants all", want: Finding, remedy: "fs.aio-max-nr=18446744073709551615",
		facts: also(aio(1048576, 1), serving("hana"))},
	{id: "KRN-006", name: "HANA has all", want: OK, facts: also(aio(math.MaxUint64, 1), serving("hana"))},
	{id: "KRN-006", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "KRN-006", name: "denied", want: Unknown,
		facts: also(aio(1, 1), kern(func(k *host.Kernel) { k.AIOMaxNr = denied[uint64]("/proc/sys/fs/aio-max-nr") }))},

	{id: "VRT-002", name: "two of eight", want: Finding, evidence: quotaFile + " = 2 CPUs",
		detail: "PostgreSQL (process 700) has 2 CPUs of quota, and its threads may run on 8 CPUs",
		remedy: "throttled /sys/fs/cgroup/system.slice/db.service/cpu.stat", facts: serving("postgresql", quota(2, 1000, 0))},
	{id: "VRT-002", name: "stopped", want: Finding, evidence: "120 of 1000 periods",
		detail: "stopped in 12 % of the periods", facts: serving("mysql", quota(8, 1000, 120))},
	{id: "VRT-002", name: "all of it", want: OK, facts: serving("redis", quota(8, 1000, 10))},
	{id: "VRT-002", name: "no quota", want: OK, detail: "no cgroup", facts: serving("hana", quota(-1, 0, 0))},
	{id: "VRT-002", name: "hostlab's own quota is no server's", want: NotApplicable, detail: "no server is seen",
		facts: func(f *host.Facts) { f.Limits.CPUQuota = known(1.0, "/sys/fs/cgroup/cpu.max") }},
	{id: "VRT-002", name: "no cgroups", want: NotApplicable, facts: serving("oracle")},
	{id: "VRT-002", name: "denied", want: Unknown,
		facts: serving("db2", quota(2, 1, 0), func(d *host.Database) { d.Limits.CPUQuota = denied[float64](quotaFile) })},
	{id: "VRT-002", name: "CPUs not known", want: NotApplicable,
		facts: serving("ase", func(d *host.Database) { d.Limits.CPUQuota = known(2.0, quotaFile) })},

	{id: "VRT-003", name: "two of eight", want: Finding, evidence: "/proc/700/status Cpus_allowed_list = 0-1",
		detail: "may use 2 of 8 online CPUs", remedy: "taskset -pc 700",
		facts: also(online(8), serving("postgresql", onCPUs(2)))},
	{id: "VRT-003", name: "all", want: OK, facts: also(online(8), serving("postgresql", onCPUs(8)))},
	{id: "VRT-003", name: "hostlab's own affinity is no server's", want: NotApplicable, facts: allowed(2, 8)},
	{id: "VRT-003", name: "denied", want: Unknown, facts: also(serving("postgresql", onCPUs(8)), func(f *host.Facts) {
		f.Topology.Online = denied[[]int]("/sys/devices/system/cpu/online")
	})},

	{id: "STO-001", name: "a guest's virtual disk with HANA", want: Finding,
		facts: also(serving("hana"), drives("kvm", disk("vda", host.ClassVirtual, "[mq-deadline] none", 0, 128)))},
	{id: "STO-003", name: "MongoDB", want: NotApplicable, detail: "MongoDB asks for a small window",
		facts: also(serving("mongodb"), drives("none", disk("vda", host.ClassVirtual, "[none]", 0, 128)))},
	{id: "STO-007", name: "Oracle on NFS", want: OK,
		facts: logOn(host.ClassNetwork, "nfs4", "rw,hard", func(s *host.Storage) { s.Purpose = "oracle log" })},

	{id: "PWR-004", name: "a processor with EPP", want: NotApplicable, detail: "see PWR-003", facts: also(
		governed(2, "intel_pstate", "powersave", "balance_performance"), biased(6, 6))},
}

func TestEngine(t *testing.T) {
	for _, c := range []struct {
		e          Engine
		version    string // "": not known
		yes, known bool
	}{
		{Engine{Kind: "mongodb"}, "", true, true},
		{Engine{Kind: "redis"}, "", false, true},
		{Engine{Kind: "mongodb", From: "8"}, "", false, false},
		{Engine{Kind: "mongodb", From: "8"}, "8.0.1", true, true},
		{Engine{Kind: "mongodb", From: "8"}, "7.0.10", false, true},
		{Engine{Kind: "mongodb", From: "8"}, "10.0", true, true},
		{Engine{Kind: "mongodb", From: "5", Below: "8"}, "8.0", false, true},
		{Engine{Kind: "mongodb", From: "5.0.2", Below: "8"}, "5.0", false, true},
	} {
		d := host.Database{Kind: "mongodb"}
		if c.version != "" {
			version(c.version)(&d)
		}
		if yes, known := c.e.is(d); yes != c.yes || known != c.known {
			t.Errorf("%+v is %s %s: %v, %v", c.e, d.Kind, c.version, yes, known)
		}
	}
}

// What a scheduler and idle states weigh depends on the device and the server.
func TestWeights(t *testing.T) {
	for name, c := range map[string]struct {
		id    string
		facts func(*host.Facts)
		want  Severity
	}{
		"a guest's virtual disk": {"STO-001", drives("kvm", disk("vda", host.ClassVirtual, "[mq-deadline] none", 0, 128)),
			Info},
		"that of HANA": {"STO-001", also(serving("hana"),
			drives("kvm", disk("vda", host.ClassVirtual, "[mq-deadline] none", 0, 128))), Medium},
		"an SSD": {"STO-001", also(serving("postgresql"),
			drives("none", disk("sda", host.ClassSSD, "[mq-deadline] none", 0, 128))), Info},
		"an SSD of HANA": {"STO-001", also(serving("hana"),
			drives("none", disk("sda", host.ClassSSD, "[mq-deadline] none", 0, 128))), Low},
		"NVMe": {"STO-001", drives("none", disk("nvme0n1", host.ClassNVMe, "[mq-deadline] none", 0, 128)),
			Medium},
		"idle states":         {"IDL-001", idling(133, noLimit), Medium},
		"those of HANA":       {"IDL-001", also(serving("hana"), idling(133, noLimit)), High},
		"nodes of PostgreSQL": {"MEM-004", also(serving("postgresql"), numa(2, 1)), Info},
		"nodes of Oracle":     {"MEM-004", also(serving("oracle"), numa(2, 1)), Medium},
		"a quota":             {"VRT-002", serving("mysql", quota(2, 1000, 0)), Low},
		"a quota that stops":  {"VRT-002", serving("mysql", quota(2, 1000, 100)), Medium},
	} {
		if r := (lookCase{id: c.id, facts: c.facts}).run(t); r.Status != Finding || r.Severity != c.want {
			t.Errorf("%s: %s %s, want %s", name, r.Status, r.Severity, c.want)
		}
	}
}

// Each check that speaks for some servers is silent where only another runs.
func TestOtherEngines(t *testing.T) {
	for _, c := range allCases() {
		ck, _ := Find(c.id)
		if c.want != Finding || ck.For == nil || len(ck.For) == len(anyServer) {
			continue
		}
		f := c.facts0()
		f.Databases, f.Apps = []host.Database{{Kind: "another", PID: 1}}, nil
		testkit.Is(t, NotApplicable, c.runOn(t, f).Status, c.id, c.name, "with another server")
	}
}

func TestEnginesAreKnown(t *testing.T) {
	kinds := host.Kinds()
	for _, c := range All() {
		for _, e := range c.For {
			if !slices.Contains(kinds, e.Kind) {
				t.Errorf("%s speaks for %q, which no fact names", c.ID, e.Kind)
			}
		}
	}
}

// Mappings for connections that MongoDB admits and nobody has opened weigh less than those in use.
func TestMappingsWeigh(t *testing.T) {
	for maps, want := range map[int64]Severity{200: Low, 60000: Medium} {
		c := lookCase{id: "MEM-007", facts: also(mapLimit(65530), serving("mongodb", mapped(maps), opens(64000)))}
		testkit.Is(t, want, c.run(t).Severity, maps, "mappings")
	}
}
