package check

import (
	"fmt"

	"hostlab/internal/host"
)

const (
	mib = 1 << 20

	thpOff = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled\n" +
		"# to keep it: add transparent_hugepage=madvise to the kernel command line"
)

// runsOnly reports that all database servers seen running are of one kind.
func runsOnly(f *host.Facts, kind string) bool {
	for _, d := range f.Databases {
		if d.Kind != kind {
			return false
		}
	}
	return len(f.Databases) > 0
}

// runs reports that a database server of this kind was seen running.
func runs(f *host.Facts, kind string) bool {
	for _, d := range f.Databases {
		if d.Kind == kind {
			return true
		}
	}
	return false
}

var thpEnabled = Check{
	ID: "MEM-001", Lever: LeverMemory, Title: "Transparent huge pages",
	Why: "With always, the kernel assembles 2 MiB pages behind any program's back: page faults wait for memory to be " +
		"compacted, a background task holds locks while it merges, and memory use grows. Databases that want huge " +
		"pages reserve them or ask by madvise.",
	Source: "never: SAP note 2205917, tuned oracle and postgresql; madvise: SAP note 3577842, sapconf; always: tuned mssql",
	Disagree: "The sources name all three values. For a production database never and madvise are accepted; always " +
		"only where SQL Server is the one database server running.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		r := read(f.Memory.THPEnabled, func(c host.Choice) bool {
			return c.Active == "never" || c.Active == "madvise" || runsOnly(f, "sqlserver")
		})
		ok := "no program gets huge pages unasked"
		if f.Memory.THPEnabled.Value.Active == "always" {
			ok = "SQL Server, which wants them, is the one database server running"
		}
		return judge([]reading{r}, answers{
			absent: "the kernel has no transparent huge pages",
			ok:     ok,
			bad: func([]reading) (string, string) {
				return "every program gets huge pages, whether it asks or not", thpOff
			},
		})
	},
}

var thpDefrag = Check{
	ID: "MEM-002", Lever: LeverMemory, Title: "Compaction for transparent huge pages (defrag)",
	Why: "With always, a page fault that finds no free huge page stops to reclaim and compact memory itself. Such " +
		"stalls last milliseconds, and come when memory is full, which is a database's usual state.",
	Source: "the sources of MEM-001; kernel documentation on transparent huge pages",
	Disagree: "The sources set enabled and leave defrag to follow. It matters only where huge pages are handed out, so " +
		"it is satisfied when those are off.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		off := f.Memory.THPEnabled.Or(host.Choice{}).Active == "never"
		r := read(f.Memory.THPDefrag, func(c host.Choice) bool { return off || c.Active != "always" })
		return judge([]reading{r, aside(f.Memory.THPEnabled)}, answers{
			absent: "the kernel has no transparent huge pages",
			ok:     "page faults do not wait for compaction unasked",
			bad: func([]reading) (string, string) {
				return "page faults of any program may stop to compact memory",
					"echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag"
			},
		})
	},
}

var ksm = Check{
	ID: "MEM-003", Lever: LeverMemory, Title: "Kernel samepage merging (KSM)",
	Why: "KSM reads through memory, merges pages of equal content and copies them again at the first write. It spends " +
		"CPU and cache on that and makes writes take an unforeseen page fault.",
	Source: "SAP HANA notes 2205917, 2684254, 3577842; sapconf",
	Disagree: "KSM exists to fit more virtual machines into a host: on the hypervisor's host of a development system " +
		"it may be wanted, so it is judged for production roles only.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		// 2 stops the scan and takes merged pages apart; only 1 runs it.
		r := read(f.Memory.KSM, func(v int64) bool { return v != 1 })
		return judge([]reading{r}, answers{
			absent: "the kernel has no samepage merging",
			ok:     "samepage merging does not run",
			bad: func([]reading) (string, string) {
				return "samepage merging runs", "echo 2 | sudo tee /sys/kernel/mm/ksm/run # stop, and take merged pages apart"
			},
		})
	},
}

var numaBalancing = Check{
	ID: "MEM-004", Lever: LeverMemory, Title: "Automatic NUMA balancing",
	Why: "To learn which node uses a page the kernel unmaps it and waits for the fault. A database that shares one " +
		"large cache between all nodes pays for faults and migrations and gains nothing.",
	Source: "0: SAP HANA notes 2205917, 2684254, 3577842, tuned mssql and oracle, Scylla perftune; 1: PerfSpect",
	Disagree: "PerfSpect recommends to enable it, which helps many independent processes that nobody has pinned. So " +
		"it is judged for databases, which place their memory themselves, and not for application servers.",
	Severity: map[Role]Severity{ProductionDB: Medium},
	Look: func(f *host.Facts, _ Role) Outcome {
		if len(f.Topology.NUMA) == 1 {
			return notApplicable("there is one memory node, so nothing to balance")
		}
		r := read(f.Memory.NUMABalancing, func(v int64) bool { return v == 0 })
		return judge([]reading{r}, answers{
			absent: "the kernel has no NUMA balancing",
			ok:     "memory stays where it was placed",
			bad: func([]reading) (string, string) {
				return fmt.Sprintf("the kernel unmaps and moves pages between %s", nodes(len(f.Topology.NUMA))),
					"sudo sysctl -w kernel.numa_balancing=0\n" + keep("kernel.numa_balancing=0")
			},
		})
	},
}

func nodes(n int) string {
	if n == 0 {
		return "memory nodes"
	}
	return fmt.Sprintf("%d memory nodes", n)
}

// keep is the line that makes a sysctl survive a reboot.
func keep(settings string) string {
	return "echo \"" + settings + "\" | sudo tee -a /etc/sysctl.d/90-hostlab.conf"
}

var swappiness = Check{
	ID: "MEM-006", Lever: LeverMemory, Title: "Swappiness",
	Why: "Swappiness weighs swapping out a program's memory against dropping cached file pages. At the default of 60 " +
		"a large backup or log copy can push parts of a database's cache out to disk, and each later touch waits for a read.",
	Source: "10: tuned throughput-performance, latency-performance, oracle, sap-hana; 3: tuned postgresql; 1: tuned mssql, Scylla",
	Disagree: "The sources differ in the value (1, 3, 10), not in the direction: any value up to 10 is accepted. " +
		"Profiles differ between versions as well.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		swap := aside(f.Memory.SwapTotal)
		ok, none := "programs' memory is kept before cached files", false
		if v, known := f.Memory.SwapTotal.Get(); known && v == 0 {
			ok, none = "there is no swap space, so swappiness has nothing to do", true
		}
		r := read(f.Memory.Swappiness, func(v int64) bool { return v <= 10 || none })
		return judge([]reading{r, swap}, answers{
			absent: "the kernel shows no swappiness",
			ok:     ok,
			bad: func([]reading) (string, string) {
				return "a database's memory may be swapped out in favour of cached files",
					"sudo sysctl -w vm.swappiness=10\n" + keep("vm.swappiness=10")
			},
		})
	},
}

var maxMapCount = Check{
	ID: "MEM-007", Lever: LeverMemory, Title: "Memory mappings a process may have (max_map_count)",
	Why: "A process that reaches the limit gets no more memory, although plenty is free, and usually dies. Column " +
		"stores and large Java or SAP processes hold mappings by the hundred thousand; the kernel's own default is 65530.",
	Source: "2147483647: SAP notes 1275776, 1980196, 900929; 1600000: tuned mssql",
	Disagree: "Newer distributions ship 1048576, which is accepted for a database of a kind that no source is about; " +
		"HANA and application servers are held to the SAP notes, SQL Server to its profile.",
	Severity: inProduction(Medium, Medium),
	Look: func(f *host.Facts, role Role) Outcome {
		want := mapsWanted(f, role)
		r := read(f.Memory.MaxMapCount, func(v int64) bool { return v >= want })
		return judge([]reading{r}, answers{
			absent: "the kernel shows no limit of mappings",
			ok:     "processes may have enough memory mappings",
			bad: func([]reading) (string, string) {
				set := fmt.Sprintf("vm.max_map_count=%d", want)
				return fmt.Sprintf("fewer than the %d that are recommended here", want),
					"sudo sysctl -w " + set + "\n" + keep(set)
			},
		})
	},
}

var shmSize = Check{
	ID: "MEM-008", Lever: LeverMemory, Title: "Size of /dev/shm",
	Why: "SAP application servers keep shared memory in files below /dev/shm. When it is full, allocation fails in the " +
		"middle of a request. The mount's default is half of the memory.",
	Source: "SAP note 941735 (75 % of memory and swap)",
	Disagree: "Only the note for application servers asks for it; newer memory management keeps less there, yet the " +
		"note still recommends the same size. Its size reserves nothing: unused space costs no memory.",
	Severity: map[Role]Severity{ProductionApp: Medium},
	Look: func(f *host.Facts, _ Role) Outcome {
		m := f.Memory
		size, total, swap := whole(m.ShmSize), whole(m.Total), whole(m.SwapTotal)
		if o, stop := need("there is no /dev/shm, or the memory's size is not known", size, total); stop {
			return o
		}
		if swap.unknown() {
			return judge([]reading{swap}, answers{})
		}
		// Swap that is absent is none. Mounts round to pages: allow 1 %.
		want := int64(0.75 * (float64(m.Total.Value) + float64(m.SwapTotal.Or(0))))
		size.bad = float64(m.ShmSize.Value) < 0.99*float64(want)
		total.context, swap.context = true, true
		return judge([]reading{size, total, swap}, answers{
			ok: "at least 75 % of memory and swap",
			bad: func([]reading) (string, string) {
				mb := want/mib + 1
				return fmt.Sprintf("%s, below 75 %% of memory and swap (%s)", bytesShort(float64(m.ShmSize.Value)), bytesShort(float64(want))),
					fmt.Sprintf("sudo mount -o remount,size=%dM /dev/shm\n"+
						"# to keep it, in /etc/fstab: tmpfs /dev/shm tmpfs size=%dM 0 0", mb, mb)
			},
		})
	},
}
