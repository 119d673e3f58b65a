package check

import "hostlab/internal/host"

const (
	thpDir = "/sys/kernel/mm/transparent_hugepage"
	vmDir  = "/proc/sys/vm"
	gib    = int64(1) << 30
)

func huge(enabled, defrag string, databases ...string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Memory.THPEnabled = pick(thpDir+"/enabled", enabled)
		f.Memory.THPDefrag = pick(thpDir+"/defrag", defrag)
		running(databases...)(f)
	}
}

func running(kinds ...string) func(*host.Facts) {
	return func(f *host.Facts) {
		for _, k := range kinds {
			if d := (host.Database{Kind: k, PID: 700}); k == "sap" {
				f.Apps = append(f.Apps, d)
			} else {
				f.Databases = append(f.Databases, d)
			}
		}
	}
}

// dirty makes the four limits: bytes and ratios, hard and background, in B and %.
func dirty(total, bytes, backBytes, ratio, backRatio int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Memory.Total = size(total, "/proc/meminfo")
		f.Memory.DirtyBytes, f.Memory.DirtyBackgroundBytes = size(bytes, vmDir+"/dirty_bytes"), size(backBytes, vmDir+"/dirty_background_bytes")
		f.Memory.DirtyRatio, f.Memory.DirtyBackgroundRatio = known(ratio, vmDir+"/dirty_ratio"), known(backRatio, vmDir+"/dirty_background_ratio")
	}
}

func mem(set func(m *host.Memory)) func(*host.Facts) {
	return func(f *host.Facts) { set(&f.Memory) }
}

func numa(n int, balancing int64) func(*host.Facts) {
	return func(f *host.Facts) {
		for i := range n {
			f.Topology.NUMA = append(f.Topology.NUMA, host.NUMANode{ID: i})
		}
		f.Memory.NUMABalancing = known(balancing, "/proc/sys/kernel/numa_balancing")
	}
}

// shm makes a /dev/shm on a machine with 64 GiB of memory.
func shm(bytes, swap int64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.ShmSize, m.Total, m.SwapTotal = size(bytes, "/dev/shm"), size(64*gib, "/proc/meminfo"), size(swap, "/proc/meminfo")
	})
}

func swapping(swappiness, swap int64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.Swappiness, m.SwapTotal = known(swappiness, vmDir+"/swappiness"), size(swap, "/proc/meminfo")
	})
}

var memoryCases = []lookCase{
	{id: "MEM-009", name: "on", facts: reclaim(2, 1), want: Finding, evidence: "zone_reclaim_mode = 1", remedy: "vm.zone_reclaim_mode=0"},
	{id: "MEM-009", name: "off", facts: reclaim(2, 0), want: OK},
	{id: "MEM-009", name: "one node", facts: reclaim(1, 1), want: NotApplicable},
	{id: "MEM-009", name: "denied", facts: mem(func(m *host.Memory) { m.ZoneReclaim = denied[int64]("/proc/sys/vm/zone_reclaim_mode") }), want: Unknown},

	{id: "MEM-001", name: "always", facts: huge("[always] madvise never", "madvise"), want: Finding,
		evidence: "enabled = [always] madvise never", remedy: "echo madvise"},
	{id: "MEM-001", name: "always with PostgreSQL", facts: huge("[always] madvise never", "madvise", "postgresql"), want: Finding},
	{id: "MEM-001", name: "always with SQL Server alone", facts: huge("[always] madvise never", "madvise", "sqlserver"), want: OK},
	{id: "MEM-001", name: "always with SQL Server and another", facts: huge("[always] madvise never", "madvise", "sqlserver", "oracle"), want: Finding},
	{id: "MEM-001", name: "madvise", facts: huge("always [madvise] never", "madvise"), want: OK},
	{id: "MEM-001", name: "never", facts: huge("always madvise [never]", "always"), want: OK},
	{id: "MEM-001", name: "development", role: Development, facts: huge("[always] madvise never", "madvise"), want: NotApplicable},
	{id: "MEM-001", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-001", name: "denied", facts: mem(func(m *host.Memory) { m.THPEnabled = denied[host.Choice](thpDir + "/enabled") }), want: Unknown},

	{id: "MEM-002", name: "always", facts: huge("always [madvise] never", "[always] defer madvise never"), want: Finding, remedy: "defrag"},
	{id: "MEM-002", name: "madvise", facts: huge("[always] madvise never", "always defer [madvise] never"), want: OK},
	{id: "MEM-002", name: "moot", facts: huge("always madvise [never]", "[always] defer madvise never"), want: OK},
	{id: "MEM-002", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-002", name: "error", facts: mem(func(m *host.Memory) { m.THPDefrag = failed[host.Choice](thpDir + "/defrag") }), want: Unknown},

	{id: "MEM-003", name: "runs", facts: mem(func(m *host.Memory) { m.KSM = known[int64](1, "/sys/kernel/mm/ksm/run") }), want: Finding, remedy: "echo 2"},
	{id: "MEM-003", name: "stopped", facts: mem(func(m *host.Memory) { m.KSM = known[int64](0, "/sys/kernel/mm/ksm/run") }), want: OK},
	{id: "MEM-003", name: "unmerged", facts: mem(func(m *host.Memory) { m.KSM = known[int64](2, "/sys/kernel/mm/ksm/run") }), want: OK},
	{id: "MEM-003", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-003", name: "denied", facts: mem(func(m *host.Memory) { m.KSM = denied[int64]("/sys/kernel/mm/ksm/run") }), want: Unknown},

	{id: "MEM-004", name: "on, two nodes", facts: numa(2, 1), want: Finding, detail: "2 memory nodes", remedy: "kernel.numa_balancing=0"},
	{id: "MEM-004", name: "tiering counts too", facts: numa(4, 2), want: Finding},
	{id: "MEM-004", name: "off", facts: numa(2, 0), want: OK},
	{id: "MEM-004", name: "one node", facts: numa(1, 1), want: NotApplicable},
	{id: "MEM-004", name: "application server", role: ProductionApp, facts: numa(2, 1), want: NotApplicable},
	{id: "MEM-004", name: "denied", facts: mem(func(m *host.Memory) { m.NUMABalancing = denied[int64]("/proc/sys/kernel/numa_balancing") }), want: Unknown},

	{id: "MEM-005", name: "default on 512 GiB", facts: dirty(512*gib, 0, 0, 20, 10), want: Finding,
		detail: "writing starts at up to 51.2 GiB (10 % of memory) of unwritten data, writers stop at up to 102 GiB", remedy: "vm.dirty_bytes=629145600"},
	{id: "MEM-005", name: "default on 2 GiB stays below the byte values", facts: dirty(2*gib, 0, 0, 20, 10), want: OK},
	{id: "MEM-005", name: "SAP bytes", facts: dirty(512*gib, 629145600, 314572800, 0, 0), want: OK},
	{id: "MEM-005", name: "PostgreSQL bytes", facts: dirty(512*gib, 536870912, 67108864, 0, 0), want: OK},
	{id: "MEM-005", name: "throughput-performance", facts: dirty(512*gib, 0, 0, 40, 10), want: OK},
	{id: "MEM-005", name: "latency-performance", facts: dirty(512*gib, 0, 0, 10, 3), want: OK},
	{id: "MEM-005", name: "mssql", facts: dirty(512*gib, 0, 0, 80, 3), want: OK},
	{id: "MEM-005", name: "bytes too large", facts: dirty(512*gib, 64*gib, 32*gib, 0, 0), want: Finding, detail: "32 GiB"},
	{id: "MEM-005", name: "background alone is wrong", facts: dirty(512*gib, 0, 0, 10, 10), want: Finding},
	{id: "MEM-005", name: "memory unknown", want: Finding, detail: "20 % of memory", facts: func(f *host.Facts) {
		dirty(0, 0, 0, 20, 10)(f)
		f.Memory.Total = failed[int64]("/proc/meminfo")
	}},
	{id: "MEM-005", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-005", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		dirty(512*gib, 0, 0, 40, 10)(f)
		f.Memory.DirtyBytes = denied[int64](vmDir + "/dirty_bytes")
	}},

	{id: "MEM-006", name: "default", facts: swapping(60, 8*gib), want: Finding, evidence: "swappiness = 60", remedy: "vm.swappiness=10"},
	{id: "MEM-006", name: "10", facts: swapping(10, 8*gib), want: OK},
	{id: "MEM-006", name: "1", facts: swapping(1, 8*gib), want: OK},
	{id: "MEM-006", name: "no swap", facts: swapping(60, 0), want: OK, detail: "no swap"},
	{id: "MEM-006", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-006", name: "denied", facts: mem(func(m *host.Memory) { m.Swappiness = denied[int64](vmDir + "/swappiness") }), want: Unknown},
}

// reclaim is a host of some memory nodes with a mode of reclaim.
func reclaim(nodes int, mode int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.NUMA = make([]host.NUMANode, nodes)
		f.Memory.ZoneReclaim = known(mode, "/proc/sys/vm/zone_reclaim_mode")
	}
}
