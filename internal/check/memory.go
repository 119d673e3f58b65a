package check

import (
	"fmt"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

// memory holds the checks of memory.
var memory = []Check{
	{
		ID: "MEM-001", Subject: Memory, Title: "Transparent huge pages",
		Covers: []string{"vm/transparent_hugepages", "vm/THP", "grub/transparent_hugepage"},
		Why: "With always, the kernel assembles 2 MiB pages behind any program's back: page faults wait for memory to be " +
			"compacted, a background task holds locks while it merges, and memory use grows. Databases that want huge " +
			"pages reserve them or ask by madvise.",
		Source: "never: SAP note 2205917, tuned oracle and postgresql; madvise: SAP note 3577842, sapconf, Oracle (UEK 7); " +
			"always: MongoDB from 8.0, tuned mssql, Microsoft (leave them enabled)",
		Disagree: "The sources name all three values, each for its own server. HANA wants never up to SLES 15 SP4 and madvise " +
			"from SP5 on (SAP note 2684254), MongoDB always from 8.0 and never before, SQL Server not never. For all others, and " +
			"where no server is seen, never and madvise are accepted.",
		Severity: inProduction(Medium, Low),
		absent:   noTHP, ok: "no program gets huge pages unasked", bad: "every program gets huge pages, whether it asks or not",
		look: lookTHP, advise: adviseTHP, left: "the servers here want different values",
	},
	{
		ID: "MEM-002", Subject: Memory, Title: "Compaction for transparent huge pages (defrag)",
		Covers: []string{"sys/transparent_hugepage.defrag"},
		Why: "With always, a page fault that finds no free huge page stops to reclaim and compact memory itself. Such " +
			"stalls last milliseconds, and come when memory is full, which is a database's usual state.",
		Source: "the sources of MEM-001; kernel documentation on transparent huge pages",
		Disagree: "The sources set enabled and leave defrag to follow. It matters only where huge pages are handed out, so " +
			"it is satisfied when those are off.",
		Severity: inProduction(Medium, Low),
		absent:   noTHP, ok: "page faults do not wait for compaction unasked",
		bad: "page faults of any program may stop to compact memory",
		look: func(f *host.Facts, _ Role) view {
			off := f.Memory.THPEnabled.Or(host.Choice{}).Active == "never"
			return see(read(f.Memory.THPDefrag, func(c host.Choice) bool { return off || c.Active != "always" }),
				aside(f.Memory.THPEnabled))
		},
	},
	{
		ID: "MEM-003", Subject: Memory, Title: "Kernel samepage merging (KSM)",
		Covers: []string{"vm/KSM"},
		Why: "KSM reads through memory, merges pages of equal content and copies them again at the first write. It spends " +
			"CPU and cache on that and makes writes take an unforeseen page fault.",
		Source: "SAP HANA notes 2205917, 2684254, 3577842; sapconf",
		Disagree: "KSM exists to fit more virtual machines into a host: on the hypervisor's host of a development system " +
			"it may be wanted, so it is judged for production roles only.",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel has no samepage merging", ok: "samepage merging does not run", bad: "samepage merging runs",
		fix: remedy{write("2", "/sys/kernel/mm/ksm/run").noting("stop, and take merged pages apart")},
		look: func(f *host.Facts, _ Role) view {
			// 2 stops the scan and takes merged pages apart; only 1 runs it.
			return see(read(f.Memory.KSM, func(v int64) bool { return v != 1 }))
		},
	},
	{
		ID: "MEM-004", Subject: Memory, Title: "Automatic NUMA balancing",
		Covers: []string{"kernel.numa_balancing", "grub/numa_balancing", "perfspect/NUMA balancing"},
		Why: "To learn which node uses a page the kernel unmaps it and waits for the fault. A database that shares one " +
			"large cache between all nodes pays for faults and migrations and gains nothing.",
		Source: "0: SAP HANA notes 2205917, 2684254, 3577842, tuned mssql and oracle, Scylla perftune; 1: PerfSpect",
		Disagree: "PerfSpect recommends to enable it, which helps many independent processes that nobody has pinned. So " +
			"it is judged for databases, which place their memory themselves, and not for application servers.",
		Severity: map[Role]Severity{ProductionDB: Medium},
		absent:   "the kernel has no NUMA balancing", ok: "memory stays where it was placed",
		look: func(f *host.Facts, _ Role) view {
			if len(f.Topology.NUMA) == 1 {
				return view{absent: "there is one memory node, so nothing to balance"}
			}
			v := see(read(f.Memory.NUMABalancing, is[int64](0)))
			v.bad = "the kernel unmaps and moves pages between memory nodes"
			if n := len(f.Topology.NUMA); n > 0 {
				v.bad = fmt.Sprintf("the kernel unmaps and moves pages between %d memory nodes", n)
			}
			return v
		},
	},
	{
		ID: "MEM-005", Subject: Memory, Title: "Limits of unwritten file data (dirty pages)",
		Covers: []string{"vm/dirty_bytes", "vm/dirty_background_bytes", "vm.dirty_bytes", "vm.dirty_background_bytes"},
		Why: "Written data stays in memory until the background limit starts the writing and the hard limit stops the " +
			"writers. As a share of a large memory that is many gigabytes, and when they are flushed in one go the log's " +
			"small writes queue behind them.",
		Source: "bytes: SAP notes 2578899, 1984787, sapconf (629145600 / 314572800), tuned postgresql (536870912 / 67108864); " +
			"ratios: tuned throughput-performance, oracle, sap-hana (40/10), latency-performance (10/3), mssql (80/3)",
		Disagree: "On a large memory the ratios allow a hundred times what the byte values do. Both families are accepted, " +
			"as is any ratio that stays below the byte values on this memory; the kernel's default of 20/10 is in neither.",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel shows no limits of dirty pages", look: lookDirty,
	},
	{
		ID: "MEM-006", Subject: Memory, Title: "Swappiness",
		Covers: []string{"vm.swappiness"},
		Why: "Swappiness weighs swapping out a program's memory against dropping cached file pages. At the default of 60 " +
			"a large backup or log copy can push parts of a database's cache out to disk, and each later touch waits for a read.",
		Source: "10: tuned throughput-performance, latency-performance, oracle, sap-hana; 3: tuned postgresql; 1: tuned mssql, Scylla",
		Disagree: "The sources differ in the value (1, 3, 10), not in the direction: any value up to 10 is accepted. " +
			"Profiles differ between versions as well.",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel shows no swappiness", ok: "programs' memory is kept before cached files",
		bad: "a database's memory may be swapped out in favour of cached files",
		look: func(f *host.Facts, _ Role) view {
			swap, known := f.Memory.SwapTotal.Get()
			none := known && swap == 0
			v := see(read(f.Memory.Swappiness, func(v int64) bool { return v <= 10 || none }), aside(f.Memory.SwapTotal))
			if none {
				v.ok = "there is no swap space, so swappiness has nothing to do"
			}
			return v
		},
	},
	{
		ID: "MEM-007", Subject: Memory, Title: "Memory mappings a process may have (max_map_count)",
		Covers: []string{"vm.max_map_count"},
		Why: "A process that reaches the limit gets no more memory, although plenty is free, and usually dies. Column " +
			"stores and large Java or SAP processes hold mappings by the hundred thousand; the kernel's own default is 65530.",
		Source: "2147483647: SAP notes 1275776, 1980196, 900929; 262144: Microsoft; 1600000: tuned mssql; else hostlab's own bound of 80 %",
		Disagree: "Only HANA, SAP application servers and SQL Server are held to a number; Microsoft asks for at least 262144, " +
			"tuned for more. Any other server is judged by the mappings that it has: most need a few hundred.",
		For:      anyServer,
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel shows no limit of mappings", ok: "servers may have enough memory mappings",
		look: lookMaps, advise: adviseMaps,
	},
	{
		ID: "MEM-008", Subject: Memory, Title: "Size of /dev/shm",
		Covers: []string{"mem/VSZ_TMPFS_PERCENT"},
		Why: "SAP application servers keep shared memory in files below /dev/shm. When it is full, allocation fails in the " +
			"middle of a request. The mount's default is half of the memory.",
		Source: "SAP note 941735 (75 % of memory and swap)",
		Disagree: "Only the note for application servers asks for it; newer memory management keeps less there, yet the " +
			"note still recommends the same size. Its size reserves nothing: unused space costs no memory.",
		For:      engines("sap"),
		Severity: inProduction(Medium, Medium),
		absent:   "there is no /dev/shm, or the memory's size is not known", ok: "at least 75 % of memory and swap",
		look: lookShm, left: "it is a mount option",
	},
	{
		ID: "MEM-009", Subject: Memory, Title: "Reclaim within a node first (zone_reclaim_mode)",
		Why: "With 1, a memory node that runs short frees its own page cache before it takes memory of another node. A " +
			"database that fills one node stalls and loses its cache while other nodes have memory free.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst (0 where programs benefit from cached files); MongoDB documentation (0)",
		Disagree: "A process that is bound to its node by design may want 1, as the kernel's documentation says. Databases " +
			"that use all nodes do not, so it is judged for them alone.",
		Severity: map[Role]Severity{ProductionDB: Medium},
		absent:   hidden("vm.zone_reclaim_mode"), ok: "memory of other nodes is taken before cache is freed",
		bad: "a node frees its cache while other nodes may have memory free",
		look: func(f *host.Facts, _ Role) view {
			if len(f.Topology.NUMA) == 1 {
				return view{absent: "there is one memory node, so none to take memory from"}
			}
			return see(read(f.Memory.ZoneReclaim, is[int64](0)))
		},
	},
}

const noTHP = "the kernel has no transparent huge pages"

// runs reports that a server of this kind was seen.
func runs(f *host.Facts, kind string) bool {
	return slices.ContainsFunc(servers(f), func(d host.Database) bool { return d.Kind == kind })
}

func lookShm(f *host.Facts, _ Role) view {
	const mib = 1 << 20
	m := f.Memory
	swap := aside(m.SwapTotal) // absent is none
	swap.needed = swap.unknown()
	// Mounts round to pages: allow 1 %.
	want := int64(0.75 * (float64(m.Total.Value) + float64(m.SwapTotal.Or(0))))
	size := read(m.ShmSize, func(v int64) bool { return float64(v) >= 0.99*float64(want) }).need()
	v := see(size, needed(m.Total), swap)
	v.bad = fmt.Sprintf("%s, below 75 %% of memory and swap (%s)", result.Format(float64(m.ShmSize.Value), "B"), result.Format(float64(want), "B"))
	mb := want/mib + 1
	v.fix = remedy{run("sudo", "mount", "-o", fmt.Sprintf("remount,size=%dM", mb), "/dev/shm"),
		remark(fmt.Sprintf("to keep it, in /etc/fstab: tmpfs /dev/shm tmpfs size=%dM 0 0", mb))}
	return v
}

// What the byte sources recommend at most: SAP notes 2578899 and 1984787, sapconf.
const (
	dirtyBytesMax      = 629145600
	dirtyBackgroundMax = 314572800
)

// dirtyLimit is one of the two limits, in the form that is in force: bytes, if
// they are not 0, else the ratio.
type dirtyLimit struct {
	reading reading
	ratio   int64   // %, or 0 if bytes are in force
	bytes   float64 // at most about this much
	sized   bool    // bytes is known
}

func dirtyInForce(b, ratio, total host.Fact[int64]) dirtyLimit {
	if v, ok := b.Get(); ok && v > 0 {
		return dirtyLimit{reading: whole(b), bytes: float64(v), sized: true}
	}
	if r := whole(b); r.unknown() {
		return dirtyLimit{reading: r}
	}
	mem, sized := total.Get()
	l := dirtyLimit{ratio: ratio.Or(0), sized: sized}
	l.bytes = float64(mem) * float64(l.ratio) / 100
	l.reading = readAs(ratio, func(v int64) string { return fmt.Sprintf("%d %%", v) }, func(int64) bool { return true })
	return l
}

func lookDirty(f *host.Facts, _ Role) view {
	m := f.Memory
	hard := dirtyInForce(m.DirtyBytes, m.DirtyRatio, m.Total)
	background := dirtyInForce(m.DirtyBackgroundBytes, m.DirtyBackgroundRatio, m.Total)
	hard.reading.bad = !hard.within(dirtyBytesMax) && hard.ratio != 10 && hard.ratio != 40 && hard.ratio != 80
	background.reading.bad = !background.within(dirtyBackgroundMax) && background.ratio != 3 &&
		(background.ratio != 10 || hard.ratio != 40)
	v := see(hard.reading.need(), background.reading.need(), aside(m.Total))
	v.ok = "within what one of the sources recommends: " + hard.amount() + " before writers stop"
	v.bad = fmt.Sprintf("writing starts at %s of unwritten data, writers stop at %s", background.amount(), hard.amount())
	return v
}

func (l dirtyLimit) within(most float64) bool { return l.sized && l.bytes <= most }

// amount says the limit in bytes. A ratio is one of the memory that can be
// dirty, which is somewhat less than all of it.
func (l dirtyLimit) amount() string {
	switch {
	case l.ratio == 0:
		return result.Format(l.bytes, "B")
	case !l.sized:
		return fmt.Sprintf("%d %% of memory", l.ratio)
	}
	return fmt.Sprintf("up to %s (%d %% of memory)", result.Format(l.bytes, "B"), l.ratio)
}
