package check

import (
	"errors"
	"slices"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// logOn puts a database's log on a mount and lets it be changed.
func logOn(class, fstype, options string, change ...func(s *host.Storage)) func(*host.Facts) {
	return func(f *host.Facts) {
		s := host.Storage{Path: "/db/log", Purpose: "postgresql log",
			MountPoint: known("/db", "/proc/self/mountinfo"), FSType: known(fstype, "/proc/self/mountinfo"),
			Options: known(options, "/proc/self/mountinfo"), Class: known(class, "/proc/self/mountinfo"),
			Device: known("/dev/pmem0", "/proc/self/mountinfo"),
		}
		for _, c := range change {
			c(&s)
		}
		f.Storage = append(f.Storage, s)
	}
}

func dax(on bool) func(s *host.Storage) {
	return func(s *host.Storage) { s.DAX = known(on, "statx") }
}

func cached(name, cache string, fua host.Fact[bool]) func(s *host.Storage) {
	return func(s *host.Storage) {
		s.Stack = append(s.Stack, host.StackLayer{Name: name, Queue: &host.BlockDevice{Name: name,
			WriteCache: known(cache, "/sys/block/"+name+"/queue/write_cache"), FUA: fua}})
	}
}

func logOf(purpose string) func(s *host.Storage) {
	return func(s *host.Storage) { s.Purpose = purpose }
}

func fua(on bool, name string) host.Fact[bool] { return known(on, "/sys/block/"+name+"/queue/fua") }

// rawOn makes the log a block device itself.
func rawOn(name string) func(s *host.Storage) {
	return func(s *host.Storage) {
		s.Path, s.FSType = "/dev/"+name, known("none (raw block device)", "/sys/class/block/"+name)
		s.Options, s.MountPoint = absent[string](s.Path), absent[string](s.Path)
	}
}

func unknownClass(s *host.Storage) {
	s.Class = host.Unknown[string]("/proc/self/mountinfo /db", errors.New("zpool status lists the disks"))
}

// hiddenLog is a server whose log directory this user may not look up.
func hiddenLog(f *host.Facts) {
	f.Databases = append(f.Databases, host.Database{Kind: "postgresql", PID: 9, LogDir: denied[string]("/proc/9/cwd")})
}

var storageCases = []lookCase{
	{id: "STO-004", name: "discard", facts: logOn(host.ClassSSD, "ext4", "rw,relatime,discard"), want: Finding,
		evidence: "/proc/self/mountinfo (postgresql log /db/log on /db) = rw,relatime,discard",
		remedy:   "mount -o remount,nodiscard /db"},
	{id: "STO-004", name: "XFS takes no remount", facts: logOn(host.ClassSSD, "xfs", "rw,relatime,discard"), want: Finding,
		remedy: "sudo umount /db\nsudo mount /db\n"},
	{id: "STO-004", name: "none", facts: logOn(host.ClassSSD, "ext4", "rw,relatime"), want: OK},
	{id: "STO-004", name: "btrfs at once", facts: logOn(host.ClassSSD, "btrfs", "rw,discard=sync"), want: Finding},
	{id: "STO-004", name: "btrfs collects", facts: logOn(host.ClassSSD, "btrfs", "rw,discard=async"), want: OK},
	{id: "STO-004", name: "nodiscard", facts: logOn(host.ClassSSD, "ext4", "rw,nodiscard"), want: OK},
	{id: "STO-004", name: "a log that may not be seen", facts: hiddenLog, want: Unknown,
		detail: "may not read /proc/9/cwd"},
	{id: "STO-008", name: "a binary log that may not be seen", want: Unknown, detail: "may not read /etc/my.cnf",
		facts: func(f *host.Facts) {
			logOn(host.ClassNVMe, "ext4", "rw", cached("nvme0n1", "write through", fua(false, "nvme0n1")))(f)
			f.Databases = []host.Database{{Kind: "mysql", PID: 9, LogDir: known("/db/log", "fd"),
				MoreLogs: []host.ServerLog{{Purpose: "mysql binary log", Dir: denied[string]("/etc/my.cnf")}}}}
		}},
	{id: "STO-005", name: "a log that may not be seen", facts: hiddenLog, want: Unknown,
		detail: "may not read /proc/9/cwd"},
	{id: "STO-006", name: "a log that may not be seen", facts: hiddenLog, want: Unknown,
		detail: "may not read /proc/9/cwd"},
	{id: "STO-007", name: "a log that may not be seen", facts: hiddenLog, want: Unknown,
		detail: "may not read /proc/9/cwd"},
	{id: "STO-008", name: "a log that may not be seen", facts: hiddenLog, want: Unknown,
		detail: "may not read /proc/9/cwd"},
	{id: "STO-004", name: "no log", facts: func(*host.Facts) {}, want: NotApplicable, detail: "--log-dir"},
	{id: "STO-004", name: "denied", want: Unknown, facts: logOn(host.ClassSSD, "ext4", "", func(s *host.Storage) {
		s.Options = denied[string]("/proc/self/mountinfo")
	})},

	{id: "STO-005", name: "pmem through the page cache", facts: logOn(host.ClassPmem, "ext4", "rw", dax(false)),
		want:     Finding,
		evidence: "statx (postgresql log /db/log on /db) = 0", remedy: "mount -o dax=always /dev/pmem0 /db"},
	{id: "STO-005", name: "btrfs cannot", facts: logOn(host.ClassPmem, "btrfs", "rw", dax(false)), want: Finding,
		remedy: "has no DAX"},
	{id: "STO-005", name: "DAX", facts: logOn(host.ClassPmemDAX, "xfs", "rw,dax=always", dax(true)), want: OK},
	{id: "STO-005", name: "SSD", facts: logOn(host.ClassSSD, "ext4", "rw", dax(false)), want: NotApplicable},
	{id: "STO-005", name: "not readable", want: Unknown,
		facts: logOn(host.ClassPmem, "ext4", "rw", func(s *host.Storage) { s.DAX = failed[bool]("statx") })},
	{id: "STO-005", name: "class not readable", want: Unknown,
		facts: logOn("", "ext4", "rw", func(s *host.Storage) { s.Class = denied[string]("/sys/block") })},

	{id: "STO-006", name: "tmpfs", facts: logOn(host.ClassMemory, "tmpfs", "rw"), want: Finding,
		evidence: "memory (tmpfs)", detail: "does not survive"},
	{id: "STO-006", name: "tmpfs in development", role: Development, facts: logOn(host.ClassMemory, "tmpfs", "rw"),
		want: Finding},
	{id: "STO-006", name: "disk", facts: logOn(host.ClassNVMe, "xfs", "rw"), want: OK},
	{id: "STO-006", name: "no log", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "STO-006", name: "denied", want: Unknown,
		facts: logOn("", "", "", func(s *host.Storage) { s.Class = denied[string]("/proc/self/mountinfo") })},

	{id: "STO-007", name: "NFS", facts: logOn(host.ClassNetwork, "nfs4", "rw,hard"), want: Finding,
		evidence: "network (nfs4)", remedy: "hostlab assess --log-dir DIRECTORY"},
	{id: "STO-007", name: "a path that needs quotes", want: Finding, remedy: `--log-dir '/my logs/it'\''s'`,
		facts: logOn(host.ClassNetwork, "xfs", "rw", cached("sda", "write through", fua(false, "sda")),
			func(s *host.Storage) { s.Path = "/my logs/it's" })},
	{id: "STO-007", name: "a device without a file system", want: Finding, remedy: "hostlab assess --log-dir DIRECTORY",
		facts: logOn(host.ClassNetwork, "", "", rawOn("sda"))},
	{id: "STO-006", name: "a device without a file system", want: OK,
		facts: logOn(host.ClassNVMe, "", "", rawOn("nvme0n1"))},
	{id: "STO-004", name: "a device without a file system", want: NotApplicable, detail: "what the log lies on",
		facts: logOn(host.ClassNVMe, "", "", rawOn("nvme0n1"))},
	{id: "STO-008", name: "a device without a file system", want: Finding, remedy: "hostlab assess --log-dir DIRECTORY",
		facts: logOn(host.ClassSSD, "", "", rawOn("sda"), cached("sda", "write back", fua(false, "sda")))},
	{id: "STO-008", name: "nothing is known of the path", want: Unknown, detail: "broken",
		facts: logOn("", "", "", func(s *host.Storage) { s.Class = failed[string]("/zzz") })},
	{id: "STO-007", name: "disk", facts: logOn(host.ClassNVMe, "xfs", "rw"), want: OK},
	{id: "STO-007", name: "no log", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "STO-007", name: "failed", want: Unknown,
		facts: logOn("", "", "", func(s *host.Storage) { s.Class = failed[string]("/proc/self/mountinfo") })},

	{id: "STO-008", name: "volatile, no FUA", facts: logOn(host.ClassSSD, "ext4", "rw",
		cached("sda", "write back", fua(false, "sda"))), want: Finding,
		evidence: "/sys/block/sda/queue/write_cache = write back", remedy: "hostlab assess --log-dir /db/log"},
	{id: "STO-008", name: "FUA, and a log that is synced by fdatasync",
		facts: logOn(host.ClassNVMe, "ext4", "rw", cached("nvme0n1", "write back", fua(true, "nvme0n1"))), want: Finding},
	{id: "STO-008", name: "FUA, and SQL Server", facts: logOn(host.ClassNVMe, "xfs", "rw", logOf("sqlserver log"),
		cached("nvme0n1", "write back", fua(true, "nvme0n1"))), want: OK},
	{id: "STO-008", name: "no FUA, and SQL Server",
		facts: logOn(host.ClassNVMe, "xfs", "rw", logOf("sqlserver log"),
			cached("nvme0n1", "write back", fua(false, "nvme0n1"))), want: Finding},
	{id: "STO-008", name: "a virtual disk", want: Finding, detail: "up to the hypervisor's owner",
		facts: logOn(host.ClassVirtual, "ext4", "rw",
			cached("vda", "write back", fua(false, "vda")),
			func(s *host.Storage) { s.Stack[0].Queue.Class = host.ClassVirtual })},
	{id: "STO-008", name: "a word that nobody knows", want: Unknown, detail: `does not know the value "write around"`,
		facts: logOn(host.ClassNVMe, "ext4", "rw", cached("nvme0n1", "write around", fua(false, "nvme0n1")))},
	{id: "STO-008", name: "a volume of ZFS", want: Unknown, detail: "zpool status",
		facts: logOn("", "ext4", "rw", cached("zd16", "write back", fua(false, "zd16")), unknownClass)},
	{id: "STO-007", name: "a volume of ZFS", want: Unknown,
		detail: "it is not known what postgresql log /db/log on /db lies on: zpool status",
		facts:  logOn("", "ext4", "rw", unknownClass)},
	{id: "STO-005", name: "a volume of ZFS", want: NotApplicable,
		facts: logOn("", "ext4", "rw", cached("zd16", "write back", fua(false, "zd16")), unknownClass)},
	{id: "STO-008", name: "write through", facts: logOn(host.ClassNVMe, "ext4", "rw",
		cached("nvme0n1", "write through", fua(false, "nvme0n1"))), want: OK},
	{id: "STO-008", name: "dm repeats its member", want: OK,
		facts: logOn(host.ClassNVMe, "ext4", "rw", cached("dm-0", "write back", fua(false, "dm-0")),
			cached("nvme0n1", "write through", fua(false, "nvme0n1")))},
	{id: "STO-008", name: "no device", facts: logOn(host.ClassMemory, "tmpfs", "rw"), want: NotApplicable},
	{id: "STO-008", name: "FUA denied", facts: logOn(host.ClassSSD, "xfs", "rw", logOf("oracle log"),
		cached("sda", "write back", denied[bool]("/sys/block/sda/queue/fua"))), want: Unknown},
}

// What is seen can weigh another severity than the check's own.
func TestWeightsOfWhatIsSeen(t *testing.T) {
	at := func(kernel, fs string) func(*host.Facts) {
		return func(f *host.Facts) {
			logOn(host.ClassSSD, fs, "rw,discard")(f)
			f.Identity.Kernel = known(kernel, "uname")
		}
	}
	virtual := logOn(host.ClassVirtual, "ext4", "rw", cached("vda", "write back", fua(true, "vda")),
		func(s *host.Storage) { s.Stack[0].Queue.Class = host.ClassVirtual })
	for _, c := range []struct {
		id    string
		facts func(*host.Facts)
		want  Severity
	}{
		{"STO-004", at("5.14.0", "ext4"), Medium}, {"STO-004", at("5.15.0", "ext4"), Low},
		{"STO-004", at("5.14.0", "xfs"), Low},
		{"STO-004", at("6.12.0", "f2fs"), Medium}, {"STO-004", at("", "ext4"), Medium},
		{"STO-008", virtual, Info}, {"STO-008", logOn(host.ClassNVMe, "ext4", "rw",
			cached("sda", "write back", fua(true, "sda"))), Medium},
		{"MEM-006", swapping(60, gib), Medium}, {"MEM-006", swapping(0, gib), Low},
	} {
		if r := (lookCase{id: c.id, facts: c.facts}).run(t); r.Status != Finding || r.Severity != c.want {
			t.Errorf("%s: %s of severity %s, want %s", c.id, r.Status, r.Severity, c.want)
		}
	}
}

// A trim that no commit waits for does not come first where commits matter most; one that they wait for does.
func TestTrimsThatNobodyWaitsForComeLater(t *testing.T) {
	for kernel, want := range map[string]string{"6.1.0": "", "5.4.0": Log} {
		c := lookCase{id: "STO-004", facts: func(f *host.Facts) {
			logOn(host.ClassSSD, "ext4", "rw,discard")(f)
			f.Identity.Kernel = known(kernel, "uname")
		}}
		r := c.run(t)
		if r.Status != Finding || r.Subject != want {
			t.Errorf("Linux %s: %s of the lever %q, expected %q", kernel, r.Status, r.Subject, want)
		}
		swap := Result{ID: "MEM-006", Status: Finding, Severity: Medium, Subject: Memory}
		first := ByGain([]Result{swap, r}, map[string]float64{Log: 0.3})[0].ID
		testkit.Is(t, (want == ""), first == "MEM-006", "Linux", kernel, first, "comes first")
	}
}

// disk makes a block device with its queue's settings; read-ahead in KiB.
func disk(name, class, scheduler string, noMerges, readAhead int64) host.BlockDevice {
	dir := "/sys/block/" + name + "/queue"
	return host.BlockDevice{Name: name, Class: class,
		Rotational: known(class == host.ClassDisk, dir+"/rotational"),
		Scheduler:  pick(dir+"/scheduler", scheduler),
		NoMerges:   known(noMerges, dir+"/nomerges"),
		ReadAhead:  size(readAhead<<10, dir+"/read_ahead_kb"),
	}
}

func drives(hypervisor string, ds ...host.BlockDevice) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Block = slices.Clone(ds)
		f.Virt.Hypervisor = known(hypervisor, "cpuid")
	}
}

func lost(change func(b *host.BlockDevice)) func(*host.Facts) {
	b := disk("nvme0n1", host.ClassNVMe, "[none]", 2, 4096)
	change(&b)
	return drives("none", b)
}

var queueCases = []lookCase{
	{id: "STO-001", name: "mq-deadline on two NVMe", want: Finding,
		evidence: "/sys/block/nvme{0-1}n1/queue/scheduler = [mq-deadline] none",
		remedy:   "echo none | sudo tee /sys/block/nvme0n1/queue/scheduler /sys/block/nvme1n1/queue/scheduler",
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[mq-deadline] none", 0, 128),
			disk("nvme1n1", host.ClassNVMe, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "only the wrong one is mended", want: Finding,
		remedy: "sudo tee /sys/block/sdb/queue/scheduler #",
		facts: drives("none", disk("sda", host.ClassSSD, "[none] bfq", 0, 128),
			disk("sdb", host.ClassSSD, "none [bfq]", 0, 128))},
	{id: "STO-001", name: "noop of an older kernel", want: Finding, remedy: "echo noop",
		facts: drives("none", disk("sda", host.ClassSSD, "noop deadline [cfq]", 0, 128))},
	{id: "STO-001", name: "a volume that says it rotates", want: Finding,
		facts: drives("vmware", disk("sda", host.ClassDisk, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "none", want: OK, facts: drives("none",
		disk("nvme0n1", host.ClassNVMe, "[none] mq-deadline", 0, 128))},
	{id: "STO-001", name: "a scheduler that nobody knows", want: Unknown, detail: "does not know the value",
		facts: drives("none", disk("vda", host.ClassVirtual, "[foo] bar", 0, 128))},
	{id: "STO-001", name: "no choice", want: NotApplicable, detail: "no scheduler that leaves",
		facts: drives("none", disk("vda", host.ClassVirtual, "[mq-deadline] kyber", 0, 128))},
	{id: "STO-001", name: "own rotating disk", want: NotApplicable,
		facts: drives("none", disk("sda", host.ClassDisk, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "only loop and dm", want: NotApplicable,
		facts: drives("none", disk("loop0", "", "[mq-deadline] none", 0, 128),
			disk("dm-0", "", "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "denied", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.Scheduler = denied[host.Choice]("/sys/block/nvme0n1/queue/scheduler") })},

	{id: "STO-002", name: "merging", want: Finding, remedy: "echo 2",
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 0, 128))},
	{id: "STO-002", name: "not merging", want: OK,
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 2, 128))},
	{id: "STO-002", name: "rotating", want: NotApplicable,
		facts: drives("none", disk("sda", host.ClassDisk, "[none]", 0, 128))},
	{id: "STO-002", name: "application server", role: ProductionApp, want: NotApplicable,
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 0, 128))},
	{id: "STO-002", name: "error", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.NoMerges = failed[int64]("/sys/block/nvme0n1/queue/nomerges") })},

	{id: "STO-003", name: "default", want: Finding, evidence: "131072 B (128 KiB)", remedy: "echo 4096",
		facts: drives("none", disk("vda", host.ClassVirtual, "[none]", 0, 128))},
	{id: "STO-003", name: "raised on the disk, not on the volume that files are read from", want: Finding,
		remedy: "/sys/block/dm-0/queue/read_ahead_kb",
		facts:  drives("none", disk("dm-0", "", "[none]", 0, 128), disk("nvme0n1", host.ClassNVMe, "[none]", 0, 4096))},
	{id: "STO-003", name: "raised", want: OK, facts: drives("none", disk("vda", host.ClassVirtual, "[none]", 0, 4096))},
	{id: "STO-003", name: "no disk", want: NotApplicable, facts: drives("none")},
	{id: "STO-003", name: "denied", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.ReadAhead = denied[int64]("/sys/block/nvme0n1/queue/read_ahead_kb") })},
}
