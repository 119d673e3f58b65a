package setting

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/screen"
)

// Named returns the setting that a person names: by its name here, or by its sysctl's as sysctl(8)
// takes it, vm.swappiness or vm/swappiness. The error spells what was perhaps meant.
func Named(name string) (Setting, error) { return everywhere.named(name) }

func (sys *System) named(name string) (Setting, error) {
	key := sysctlKey(name)
	var keys, last []string
	for _, s := range sys.all() {
		if s.Name == name || s.Windows() && strings.EqualFold(s.Name, name) || s.Sysctl != "" && s.Sysctl == key {
			return s, nil
		}
		if s.Sysctl != "" {
			keys, last = append(keys, s.Sysctl), append(last, lastPart(s.Sysctl))
		}
	}
	if key == "" || len(keys) == 0 {
		return Setting{}, unknown(sys, name)
	}
	// Only the last parts are compared: that all lie in vm makes no two of them alike.
	if near := screen.Meant(lastPart(key), last); near != "" {
		return Setting{}, fmt.Errorf("%s: no such sysctl is known; did you mean %s?", screen.Short(name),
			keys[slices.Index(last, near)])
	}
	return Setting{}, fmt.Errorf("%s: hostlab does not set this sysctl; hostlab settings lists those "+
		"that it does", screen.Short(name))
}

// sysctlRoots are the directories of /proc/sys (kernel documentation, admin-guide/sysctl/index.rst).
var sysctlRoots = []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"}

// sysctlKey writes a sysctl's name or file with dots; "" for a name that is none.
func sysctlKey(name string) string {
	key := strings.ReplaceAll(strings.TrimPrefix(name, "/proc/sys/"), "/", ".")
	if root, _, dotted := strings.Cut(key, "."); !dotted || !slices.Contains(sysctlRoots, root) {
		return ""
	}
	return key
}

func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }

// sysctls holds the settings below /proc/sys, by their sysctl's name; name, file and rank follow from it.
var sysctls = []Setting{
	{
		Sysctl: "kernel.numa_balancing", Title: "Automatic NUMA balancing", Takes: quantity{hi: 3},
		About: "To learn which node uses a page, the kernel unmaps it and waits for the fault. That helps many independent " +
			"processes that nobody has pinned, and " +
			"costs one that shares a large cache between all nodes. 1 is on, 0 off; 2 moves pages between tiers of memory, 3 " +
			"does both.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; 0: SAP HANA notes, tuned mssql and oracle, Scylla; " +
			"1: PerfSpect",
		Effect: "memory stays on the node where it is",
		Tries:  []Try{{"1", ""}},
	},
	{
		Sysctl: "vm.swappiness", Title: "Swappiness", Takes: quantity{hi: 200},
		About: "Weighs swapping out programs' memory against dropping cached file pages: low keeps programs' memory. 0 " +
			"swaps only when memory is almost out.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; tuned (10; mssql 1; postgresql 3)",
		Advice: map[string]string{"MEM-006": "10"}, Effect: "file data leaves memory sooner",
		Tries: []Try{{"10", ""}, {"0", ""}, {"200", ""}},
	},
	{
		Sysctl: "vm.dirty_background_bytes", Title: "Unwritten file data at which writing starts, in bytes",
		Takes: quantity{lo: 1, hi: math.MaxInt64, unit: "B"},
		About: dirtyAbout, Source: dirtySource, Rival: "dirty_background_ratio",
		Effect: "replaces vm.dirty_background_ratio, which then reads 0",
		Tries:  []Try{{"314572800", ""}},
	},
	{
		Sysctl: "vm.dirty_background_ratio", Title: "Unwritten file data at which writing starts, in % of memory",
		Takes: quantity{lo: 1, hi: 100, unit: "%"},
		About: dirtyAbout, Source: dirtySource, Rival: "dirty_background_bytes",
		Tries: []Try{{"5%", "5"}},
	},
	{
		// dirty_bytes takes two pages at least (mm/page-writeback.c, dirty_bytes_min).
		Sysctl: "vm.dirty_bytes", Title: "Unwritten file data at which writers stop, in bytes",
		Takes: quantity{lo: 8192, hi: math.MaxInt64, unit: "B"},
		About: dirtyAbout, Source: dirtySource, Rival: "dirty_ratio",
		Effect: "replaces vm.dirty_ratio, which then reads 0",
		Tries:  []Try{{"629145600", ""}},
	},
	{
		Sysctl: "vm.dirty_ratio", Title: "Unwritten file data at which writers stop, in % of memory",
		Takes: quantity{lo: 1, hi: 100, unit: "%"},
		About: dirtyAbout, Source: dirtySource, Rival: "dirty_bytes",
		Tries: []Try{{"40", ""}},
	},
	{
		Sysctl: "vm.max_map_count", Limit: true, Title: "Memory mappings that a process may have",
		Takes: quantity{hi: math.MaxInt32},
		About: "A process that reaches the limit gets no more memory, although plenty is free. " +
			"Column stores and large Java processes hold mappings by the hundred thousand.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; SAP notes 1275776, 1980196, 900929 (2147483647); tuned " +
			"mssql (1600000)",
		Tries: []Try{{"2147483647", ""}},
	},
	{
		Sysctl: "vm.zone_reclaim_mode", Title: "Reclaim within a node first", Takes: quantity{hi: 7},
		About: "With 1, a NUMA node that runs short of memory frees page cache of its own before it takes another node's. " +
			"That keeps memory local, and costs " +
			"time and cache; 2 adds writing of dirty pages, 4 swapping. With 0 the other node's memory is taken.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst (0 where programs benefit from cached files)",
		Advice: map[string]string{"MEM-009": "0"}, Effect: "memory may come from a node that is farther away",
		Tries: []Try{{"1", ""}},
	},
	{
		Sysctl: "kernel.shmmni", Limit: true, Title: "Number of shared memory segments", Takes: quantity{hi: 1 << 24},
		Source: sysvSource,
		About:  "How many System V shared memory segments there may be. A limit, which reserves nothing.",
		Tries:  []Try{{"32768", ""}},
	},
	{
		Sysctl: "kernel.shmmax", Limit: true, Title: "Largest shared memory segment",
		Takes: quantity{hi: math.MaxUint64, unit: "B"}, Source: sysvSource,
		About:  "How large one System V shared memory segment may be, in bytes. A limit, which reserves nothing.",
		Advice: map[string]string{"KRN-002": "18446744073709551615"},
		Tries:  []Try{{"68719476736", ""}, {"18446744073709551615", ""}},
	},
	{
		Sysctl: "kernel.shmall", Limit: true, Title: "Shared memory in all", Takes: quantity{hi: math.MaxUint64},
		Source: sysvSource,
		About:  "How large all System V shared memory segments together may be, in pages. A limit, which reserves nothing.",
		Advice: map[string]string{"KRN-003": "1152921504606846720"},
		Tries:  []Try{{"16777216", ""}},
	},
	{
		Sysctl: "kernel.sem", Limit: true, Title: "System V semaphores", Takes: numbers{names: "SEMMSL SEMMNS SEMOPM SEMMNI"},
		About: "Four limits in one: semaphores in a set, in all, operations in a call, and sets. Work processes of SAP " +
			"instances wait for each other on them. " +
			"They reserve nothing.",
		Source: sysvSource + " (32000 1024000000 500 32000)",
		Tries:  []Try{{"250 32000 32 128", ""}},
	},
	{
		Sysctl: "kernel.pid_max", Limit: true, Title: "Process numbers", Takes: quantity{lo: 301, hi: 4194304},
		About: "Every thread takes a number; when all are taken no process starts, not even a login. The kernel refuses " +
			"less than it needs for its CPUs.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; SAP note 2578899 (4194304)",
		Tries:  []Try{{"4194304", ""}},
	},
	{
		Sysctl: "fs.aio-max-nr", Limit: true, Title: "Asynchronous I/O requests", Takes: quantity{hi: math.MaxUint64},
		About: "How many asynchronous requests may be reserved in all. Database servers reserve theirs at start, and fail to " +
			"start when none are left.",
		Source: "kernel documentation, admin-guide/sysctl/fs.rst; tuned oracle (1048576); SAP note 1868829 " +
			"(18446744073709551615)",
		Tries: []Try{{"1048576", ""}, {"18446744073709551615", ""}},
	},
}

const (
	dirtyAbout = "Writing the limit in bytes sets the one in % to 0, and the reverse: the one that was written last is in " +
		"force. hostlab keeps both and " +
		"restores both. The kernel does not take 0 bytes; write the limit in % to leave bytes."
	dirtySource = "kernel documentation, admin-guide/sysctl/vm.rst; bytes: SAP notes 2578899, 1984787, sapconf, tuned " +
		"postgresql; %: tuned"
	sysvSource = "kernel documentation, admin-guide/sysctl/kernel.rst; SAP notes 941735, 1275776; tuned oracle, " +
		"sap-netweaver"
)

// limits holds the settings of write-back's times, and of limits and habits of the kernel that some databases ask for.
var limits = []Setting{
	{
		Sysctl: "vm.dirty_expire_centisecs", Title: "Age at which unwritten file data are written",
		Takes:  quantity{lo: 1, hi: math.MaxInt32},
		Effect: "the kernel writes file data earlier, and more often",
		About: "After how many hundredths of a second written data are old enough that the kernel writes them to the disk, " +
			"however little there is. " +
			"A shorter time makes the portions smaller, and writes more often what is changed again soon.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; tuned oracle, mssql (500)",
		Tries:  []Try{{"500", ""}},
	},
	{
		Sysctl: "vm.dirty_writeback_centisecs", Title: "How often the kernel looks for old unwritten data",
		Takes:  quantity{hi: math.MaxInt32},
		Effect: "the kernel writes more often",
		About: "How many hundredths of a second pass between two looks for data that are old enough to be written. 0 " +
			"never looks.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; tuned oracle, mssql (100)",
		Tries:  []Try{{"100", ""}},
	},
	{
		Sysctl: "kernel.sched_autogroup_enabled", Title: "A share of the CPUs for each session", Takes: onOff{},
		Effect: "a busy session takes more from the others",
		About: "With on, the scheduler divides the CPUs among login sessions first. All processes of a server then share " +
			"what one terminal gets. It has " +
			"no effect on processes in a group of their own (cgroup), where systemd puts services that have CPU settings.",
		Source: "sched(7), The autogroup feature; tuned postgresql (0)",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "kernel.panic_on_oops", Title: "Panic after a kernel error", Takes: onOff{},
		Effect: "the host stops at an error that it might have survived",
		About: "With off, the kernel ends the process in which an error showed and goes on, perhaps with locks that nobody " +
			"gives back. With on it panics, " +
			"so that a cluster's other node takes over at once. kernel.panic says whether it reboots.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; tuned oracle (1)",
		Tries:  []Try{{"on", "1"}},
	},
	{
		Sysctl: "kernel.msgmni", Limit: true, Title: "System V message queues", Takes: quantity{hi: 1 << 24},
		About:  "How many System V message queues there may be. A limit, which reserves nothing.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; saptune's note SAP_BOBJ (1024)",
		Tries:  []Try{{"1024", ""}},
	},
	{
		Sysctl: "fs.file-max", Limit: true, Title: "Open files in all", Takes: quantity{hi: math.MaxInt64},
		About:  "How many files all processes together may hold open. Root may exceed it. A limit, which reserves nothing.",
		Source: "kernel documentation, admin-guide/sysctl/fs.rst; tuned oracle (6815744)",
		Tries:  []Try{{"6815744", ""}},
	},
}
