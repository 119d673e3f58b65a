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

var memory = []Check{
	{
		ID: "MEM-001", Subject: Memory, Title: "Unsuitable mode of transparent huge pages",
		Severity: inProduction(Medium, Low),
		absent:   noTHP, ok: "no program gets huge pages unasked",
		bad:  "every program gets huge pages, whether it asks or not",
		look: lookTHP, advise: adviseTHP, left: "the servers here want different values",
	},
	{
		ID: "MEM-002", Subject: Memory, Title: "Page faults that wait for compaction (THP defrag)",
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
		Severity: inProduction(Medium, Low),
		absent:   "the kernel has no samepage merging", ok: "samepage merging does not run", bad: "samepage merging runs",
		look: func(f *host.Facts, _ Role) view {
			// Only 1 runs it. 2 also takes merged pages apart, all at once, for which memory may not suffice.
			return see(oneOf(f.Memory.KSM, []int64{0, 2}, []int64{1}, "the kernel's documentation on KSM names its values"))
		},
	},
	{
		ID: "MEM-004", Subject: Memory, Title: "Memory pages moved between nodes (NUMA balancing)",
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
		For:      throughPageCache,
		Severity: inProduction(Low, Low),
		absent:   "the kernel shows no limits of dirty pages", look: lookDirty, advise: adviseDirty,
	},
	{
		ID: "MEM-006", Subject: Memory, Title: "Swappiness that is too high, or 0",
		Severity: inProduction(Medium, Low),
		absent:   "the kernel shows no swappiness", ok: "programs' memory is kept before cached files",
		bad: "a database's memory may be swapped out in favour of cached files", look: lookSwappiness,
	},
	{
		ID: "MEM-007", Subject: Kernel, Title: "Too few memory mappings (max_map_count)",
		For:      anyServer,
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel shows no limit of mappings", ok: "servers may have enough memory mappings",
		look: lookMaps, advise: adviseMaps,
	},
	{
		ID: "MEM-008", Subject: Kernel, Title: "Small /dev/shm",
		For:      engines("sap"),
		Severity: inProduction(Medium, Medium),
		absent:   "there is no /dev/shm, or the memory's size is not known", ok: "at least 75 % of memory and swap",
		look: lookShm, left: "it is a mount option",
	},
	{
		ID: "MEM-009", Subject: Memory, Title: "Reclaim within a node first (zone_reclaim_mode)",
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
		For:      engines("oracle", "sqlserver"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   "the kernel does not show these times", ok: "old data are written as soon as the profiles ask for",
		bad: "data stay unwritten for longer than the profiles have it", goals: agesWanted,
	},
	{
		ID: "MEM-011", Subject: Memory, Title: "Time in which all tasks wait for memory (pressure)",
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
		v.add(d, r, needed(d.Limits.Affinity), needed(f.Topology.Online))
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
