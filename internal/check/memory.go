package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/setting"
)

// memory holds the checks of memory.
var memory = []Check{
	{
		ID: "MEM-001", Subject: Memory, Title: "Unsuitable mode of transparent huge pages",
		Covers: []string{"vm/transparent_hugepages", "vm/THP", "grub/transparent_hugepage"},
		Why: "With always, the kernel assembles 2 MiB pages behind any program's back: page faults wait for memory to be " +
			"compacted, a background task holds locks while it merges, and memory use grows. Databases that want huge " +
			"pages reserve them or ask by madvise.",
		Source: "never: SAP note 2205917, tuned oracle and postgresql; madvise: SAP note 3577842, sapconf, Oracle (UEK 7); " +
			"always: MongoDB from 8.0, tuned mssql, Microsoft (leave them enabled)",
		Disagree: "The sources name all three values, each for its own server. HANA wants never up to SLES 15 SP4 and " +
			"madvise from SP5 on (SAP note 2684254). MongoDB wants always from 8.0 on, and never in earlier versions. For SQL " +
			"Server always and madvise are accepted. For all others, and where no server is seen, never and madvise are " +
			"accepted.",
		Severity: inProduction(Medium, Low),
		absent:   noTHP, ok: "no program gets huge pages unasked",
		bad:  "every program gets huge pages, whether it asks or not",
		look: lookTHP, advise: adviseTHP, left: "the servers here want different values",
	},
	{
		ID: "MEM-002", Subject: Memory, Title: "Page faults that wait for compaction (THP defrag)",
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
			off := f.Memory.THPEnabled.Or(host.Choice{}).Active == "never" && len(wrong(sizesUnasked(f))) == 0
			known := off || slices.Contains([]string{"always", "defer", "defer+madvise", "madvise", "never"},
				f.Memory.THPDefrag.Value.Active)
			return see(read(f.Memory.THPDefrag, func(c host.Choice) bool { return off || c.Active != "always" }).unless(known,
				docsOfTHP),
				aside(f.Memory.THPEnabled))
		},
	},
	{
		ID: "MEM-003", Subject: Memory, Title: "Kernel samepage merging (KSM) at work",
		Covers: []string{"vm/KSM"},
		Why: "KSM reads through memory, merges pages of equal content and copies them again at the first write. It spends " +
			"CPU and cache on that and makes writes take an unforeseen page fault.",
		Source: "SAP HANA notes 2205917, 2684254, 3577842; sapconf",
		Disagree: "KSM exists to fit more virtual machines into a host: on the hypervisor's host of a development system " +
			"it may be wanted, so it is judged for production roles only. 0 keeps what is merged, as the notes have it; 2 takes " +
			"it apart at once, which takes memory that a full host does not have.",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel has no samepage merging", ok: "samepage merging does not run", bad: "samepage merging runs",
		look: func(f *host.Facts, _ Role) view {
			// Only 1 runs it. 2 also takes merged pages apart, all at once, for which memory may not suffice.
			return see(oneOf(f.Memory.KSM, []int64{0, 2}, []int64{1}, "the kernel's documentation on KSM names its values"))
		},
	},
	{
		ID: "MEM-004", Subject: Memory, Title: "Memory pages moved between nodes (NUMA balancing)",
		Covers: []string{"kernel.numa_balancing", "grub/numa_balancing", "perfspect/NUMA balancing"},
		Why: "To learn which node uses a page the kernel unmaps it and waits for the fault. A database that shares one " +
			"large cache between all nodes pays for faults and migrations and gains nothing.",
		Source: "0: SAP HANA notes 2205917, 2684254, 3577842, tuned mssql and oracle, Scylla perftune; 1: PerfSpect",
		Disagree: "PerfSpect recommends to enable it, which helps many independent processes that nobody has pinned. tuned " +
			"postgresql leaves it alone, and so do the vendors of the other databases. So it is information unless HANA, " +
			"Oracle or SQL Server runs. 2 is accepted: it only promotes pages from slower memory (kernel documentation, " +
			"admin-guide/sysctl/kernel.rst).",
		Severity: map[Role]Severity{ProductionDB: Medium},
		absent:   "the kernel has no NUMA balancing", ok: "memory stays where it was placed",
		look: func(f *host.Facts, _ Role) view {
			if len(f.Topology.NUMA) == 1 {
				return view{absent: "there is one memory node, so nothing to balance"}
			}
			v := see(read(f.Memory.NUMABalancing, func(v int64) bool { return v&1 == 0 }))
			v.bad = "the kernel unmaps and moves pages between memory nodes"
			if n := len(f.Topology.NUMA); n > 0 {
				v.bad = fmt.Sprintf("the kernel unmaps and moves pages between %d memory nodes", n)
			}
			if !asksForNodes(f) {
				return v.atMost(Info)
			}
			return v
		},
		advise: func(f *host.Facts, _ Role) []setting.Assignment {
			tiering := f.Memory.NUMABalancing.Or(0) &^ 1 // what other bits say stays
			return []setting.Assignment{{Name: "numa_balancing", Value: strconv.FormatInt(tiering, 10)}}
		},
		asked: asksForNodes,
	},
	{
		ID: "MEM-005", Subject: Memory, Title: "Much file data may stay unwritten (dirty pages)",
		Covers: []string{"vm/dirty_bytes", "vm/dirty_background_bytes", "vm.dirty_bytes", "vm.dirty_background_bytes"},
		Why: "Written data stays in memory until the background limit starts the writing and the hard limit stops the " +
			"writers. As a share of a large memory that is many gigabytes. When they are flushed in one go, the log's " +
			"small writes queue behind them.",
		Source: "bytes: SAP notes 2578899, 1984787, 3565382, sapconf (314572800 and 629145600), tuned postgresql (67108864 " +
			"and 536870912); the bound of 1 GiB at which writing starts is hostlab's own",
		Disagree: "tuned's throughput-performance and sap-hana set 10 %, latency-performance and mssql 3 %, which suits a " +
			"small memory. PostgreSQL asks the kernel to write its checkpoints early (checkpoint_flush_after), so that what " +
			"remains is of backups, sorts and log copies. HANA and SQL Server write past the page cache, and are not judged.",
		For:      throughPageCache,
		Severity: inProduction(Low, Low),
		absent:   "the kernel shows no limits of dirty pages", look: lookDirty, advise: adviseDirty,
	},
	{
		ID: "MEM-006", Subject: Memory, Title: "Swappiness that is too high, or 0",
		Covers: []string{"vm.swappiness"},
		Why: "Swappiness weighs swapping out a program's memory against dropping cached file pages. At the default of 60 " +
			"a large backup or log copy can push parts of a database's cache out to disk, and each later touch waits for a " +
			"read. At 0 nothing is swapped until memory is almost out, and the kernel may end the database instead.",
		Source: "10: tuned throughput-performance, latency-performance, oracle, sap-hana; 3: tuned postgresql; 1: tuned " +
			"mssql, Scylla; " +
			"0 and zram: kernel documentation, admin-guide/sysctl/vm.rst",
		Disagree: "The sources differ in the value (1, 3, 10), not in the direction: 1 to 10 is accepted. Where all swap " +
			"space is compressed memory (zram), swapping is cheap and higher values are right, so it is not judged.",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel shows no swappiness", ok: "programs' memory is kept before cached files",
		bad: "a database's memory may be swapped out in favour of cached files", look: lookSwappiness,
	},
	{
		ID: "MEM-007", Subject: Kernel, Title: "Too few memory mappings (max_map_count)",
		Covers: []string{"vm.max_map_count"},
		Why: "A process that reaches the limit gets no more memory, although plenty is free, and usually dies. Column " +
			"stores and large Java or SAP processes hold mappings by the hundred thousand; the kernel's own default is 65530.",
		Source: "2147483647: SAP notes 1275776, 1980196, 900929; 262144: Microsoft, Elasticsearch and OpenSearch (their " +
			"checks at start); 1600000: tuned mssql; two for each connection: MongoDB (SERVER-51233, its warning 5123300 at " +
			"start); else hostlab's own bound of 80 %",
		Disagree: "Only HANA, SAP application servers, SQL Server, Elasticsearch and OpenSearch are held to a number. " +
			"Microsoft asks for at least 262144, tuned for more. Elasticsearch's manual recommends 1048576 since 8.17, and " +
			"its check at start, which a single node can do without, asks for 262144. MongoDB is held to the connections " +
			"that it admits: 80 % of its open files, or fewer by its configuration. That weighs Low until most are open. " +
			"Any other server is judged by the mappings that it has: most need a few hundred.",
		For:      anyServer,
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel shows no limit of mappings", ok: "servers may have enough memory mappings",
		look: lookMaps, advise: adviseMaps,
	},
	{
		ID: "MEM-008", Subject: Kernel, Title: "Small /dev/shm",
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
		Source: "kernel documentation, admin-guide/sysctl/vm.rst (0 where programs benefit from cached files); MongoDB " +
			"documentation (0)",
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
	{
		ID: "MEM-010", Subject: Memory, Title: "File data that stay unwritten for long",
		Covers: []string{"vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs"},
		Why: "Written data stay in memory for 30 s by default, then go to the disk in one portion. Oracle's and SQL Server's " +
			"profiles have them written after 5 s, so that portions are small.",
		Source: "tuned oracle and mssql (500 and 100 hundredths of a second)",
		Disagree: "Both servers write their data past the page cache where they can, so that only backups and exports feel " +
			"it. Other sources leave it alone. So it is information only.",
		For:      engines("oracle", "sqlserver"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   "the kernel does not show these times", ok: "old data are written as soon as the profiles ask for",
		bad: "data stay unwritten for longer than the profiles have it", goals: agesWanted,
	},
	{
		ID: "MEM-011", Subject: Memory, Title: "Time in which all tasks wait for memory (pressure)",
		Why: "In this share of the last five minutes no task could go on, since all that had work waited for memory to be " +
			"freed or swapped in. A database then answers at the pace of the disk, whatever its caches hold.",
		Source:   "kernel documentation, accounting/psi.rst (full); 1 % is a bound of ours",
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel accounts no pressure", ok: "at most 1 % of the last five minutes",
		bad: "nothing could run for a part of the last five minutes, since all waited for memory",
		fix: remedy{script("ps -eo rss,swap,pid,comm --sort=-rss | head").noting("the processes that use most memory; " +
			"systemd-cgtop -m shows it by service"),
			remark("give the database's cache less, or the machine more")},
		left: "find the process that takes the memory first",
		look: func(f *host.Facts, _ Role) view {
			return see(readAs(f.Kernel.StalledMemory, share, func(v float64) bool { return v <= 0.01 }))
		},
	},
	{
		ID: "MEM-012", Subject: Memory, Title: "A server's memory on one node, threads on several",
		Why: "The node that holds the cache serves all reads, over its own memory channels and the links between sockets, while " +
			"the other nodes' channels rest. When that node is full, the kernel takes memory back there although others have some.",
		Source: "MySQL and MariaDB documentation on innodb_numa_interleave; PostgreSQL documentation on pg_shmem_allocations_numa " +
			"(18); kernel documentation, admin-guide/mm/numa_memory_policy.rst; 75 % of it, and a quarter of the node's, are bounds of ours",
		Disagree: "A server whose threads stay on that node has it right. Spread memory makes each access a little slower, and a " +
			"single one that is local faster. Small servers do not feel either.",
		For:      anyServer,
		Severity: inProduction(Medium, Low),
		absent:   "there is one memory node, or no server is seen",
		ok:       "the memory lies on several nodes, is small, or is where its threads run",
		left:     "it is a policy of the server's start",
		look:     lookNodes,
	},
}

// lookNodes finds servers of which one node holds nearly all memory, and that may run on CPUs of others.
func lookNodes(f *host.Facts, _ Role) (v view) {
	if len(f.Topology.NUMA) == 1 {
		return v
	}
	for _, d := range servers(f) {
		list, known := d.NodeMemory.Get()
		if r := whole(d.NodeMemory); !known || len(list) != len(f.Topology.NUMA) {
			if known {
				r = r.open("the host's memory nodes are not those of the server's memory")
			}
			v.readings = append(v.readings, r)
			continue
		}
		all, at := int64(0), 0
		for i, b := range list {
			if all += b; b > list[at] {
				at = i
			}
		}
		node := f.Topology.NUMA[at]
		online, allowed := f.Topology.Online.Or(nil), d.Limits.Affinity.Or(nil)
		elsewhere := slices.ContainsFunc(online, func(cpu int) bool { // of the CPUs allowed some may never be there
			return slices.Contains(allowed, cpu) && !slices.Contains(node.CPUs.Or(nil), cpu)
		})
		r := readAs(d.NodeMemory, host.Sizes, func([]int64) bool {
			return !elsewhere || list[at]*4 < all*3 || list[at]*4 < node.Memory.Or(0) || all < largeCache/8
		})
		v.readings = append(v.readings, r, needed(d.Limits.Affinity), needed(f.Topology.Online))
		if !r.bad || v.bad != "" {
			continue
		}
		v.bad = fmt.Sprintf("%d %% of the memory of %s lie on node %d of %d, and it may run on CPUs of others",
			100*list[at]/all, nameOf(d),
			node.ID, len(list))
		if unit := serviceOf(d); unit != "" {
			v.fix = dropIn(unit, "numa", "NUMAPolicy=interleave", "NUMAMask=all")
		} else {
			v.fix = remedy{remark("start it by: numactl --interleave=all, before its command")}
		}
		v.fix = append(v.fix, restart)
	}
	return v
}

// asksForNodes reports a server whose vendor or profile wants memory to stay on its node.
func asksForNodes(f *host.Facts) bool {
	return len(of(engines("hana", "oracle", "sqlserver"), f.Databases)) > 0
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
	v.bad = fmt.Sprintf("%s, below 75 %% of memory and swap (%s)", result.Format(float64(m.ShmSize.Value), "B"),
		result.Format(float64(want), "B"))
	mb := want/mib + 1
	v.fix = remedy{run("sudo", "mount", "-o", fmt.Sprintf("remount,size=%dM", mb),
		"/dev/shm").noting("reserves nothing; other " +
		"options stay"),
		remark(fmt.Sprintf("to keep it, one line in /etc/fstab: tmpfs /dev/shm tmpfs nosuid,nodev,size=%dM 0 0", mb))}
	return v
}

// dirtyMost is how much file data may be unwritten when the kernel begins to write: a second's work of a fast
// disk. The bound is hostlab's own; sources that name bytes have 64 MiB (tuned postgresql) and 300 MiB (SAP).
const dirtyMost = 1 << 30

// dirtyLimit is one of the two limits, in the form that is in force: bytes, if they are not 0, else the ratio.
type dirtyLimit struct {
	reading reading
	ratio   int64 // %, or 0 if bytes are in force
	bytes   float64
}

// dirtyInForce reads a limit. The kernel takes a ratio of the memory that can be dirty, which is what is free and
// what files have (mm/page-writeback.c, global_dirtyable_memory); MemAvailable is about that.
func dirtyInForce(b, ratio, dirtyable host.Fact[int64]) dirtyLimit {
	if v, ok := b.Get(); ok && v > 0 {
		return dirtyLimit{reading: whole(b), bytes: float64(v)}
	}
	if r := whole(b); r.unknown() {
		return dirtyLimit{reading: r}
	}
	r := readAs(ratio, func(v int64) string { return fmt.Sprintf("%d %%", v) }, func(int64) bool { return true })
	mem, sized := dirtyable.Get()
	if ratio.State == host.StateOK && !sized {
		r = whole(dirtyable)
	}
	return dirtyLimit{reading: r, ratio: ratio.Or(0), bytes: float64(mem) * float64(ratio.Or(0)) / 100}
}

func lookDirty(f *host.Facts, _ Role) view {
	m := f.Memory
	dirtyable := m.Available
	if dirtyable.State != host.StateOK && m.Total.State == host.StateOK { // before Linux 3.14
		dirtyable = m.Total
	}
	hard := dirtyInForce(m.DirtyBytes, m.DirtyRatio, dirtyable)
	background := dirtyInForce(m.DirtyBackgroundBytes, m.DirtyBackgroundRatio, dirtyable)
	// A hard limit below the other begins the writing, too.
	first := slices.MinFunc([]dirtyLimit{background, hard},
		func(a, b dirtyLimit) int { return cmp.Compare(a.bytes, b.bytes) })
	background.reading.bad = first.bytes > dirtyMost
	v := see(hard.reading.need(), background.reading.need(), aside(dirtyable))
	v.ok = "writing starts at " + first.amount() + " of unwritten data"
	v.bad = fmt.Sprintf("writing starts at %s of unwritten data, writers stop at %s", first.amount(), hard.amount())
	return v
}

// adviseDirty is in bytes, as SAP's notes have it.
func adviseDirty(*host.Facts, Role) []setting.Assignment {
	return []setting.Assignment{{Name: "dirty_background_bytes", Value: "314572800"},
		{Name: "dirty_bytes", Value: "629145600"}}
}

// throughPageCache are the servers that write files through the page cache, or do so unless they are configured
// otherwise. HANA and SQL Server open theirs with O_DIRECT.
var throughPageCache = slices.DeleteFunc(slices.Clone(anyServer), func(e Engine) bool {
	return e.Kind == "hana" || e.Kind == "sqlserver"
})

func (l dirtyLimit) amount() string {
	if l.ratio == 0 {
		return result.Format(l.bytes, "B")
	}
	return fmt.Sprintf("%s (%d %% of the memory for files)", result.Format(l.bytes, "B"), l.ratio)
}
