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
// dirty are the limits, of a host of PostgreSQL where no other server is.
func dirty(total, bytes, backBytes, ratio, backRatio int64) func(*host.Facts) {
	return func(f *host.Facts) {
		if len(servers(f)) == 0 {
			serving("postgresql")(f)
		}
		f.Memory.Total = size(total, "/proc/meminfo")
		f.Memory.DirtyBytes, f.Memory.DirtyBackgroundBytes = size(bytes, vmDir+"/dirty_bytes"),
			size(backBytes, vmDir+"/dirty_background_bytes")
		f.Memory.DirtyRatio, f.Memory.DirtyBackgroundRatio = known(ratio, vmDir+"/dirty_ratio"),
			known(backRatio, vmDir+"/dirty_background_ratio")
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

// sizes has huge pages of 64 KiB and for shared memory as well.
func sizes(enabled, small, shared string) func(*host.Facts) {
	return func(f *host.Facts) {
		huge(enabled, "madvise")(f)
		f.Memory.THPSizes = []host.THPSize{{Size: 64 << 10, Enabled: pick(thpDir+"/hugepages-64kB/enabled", small)}}
		f.Memory.ShmemEnabled = pick(thpDir+"/shmem_enabled", shared)
	}
}

func swapOn(swappiness int64, devices string) func(*host.Facts) {
	return func(f *host.Facts) {
		swapping(swappiness, 8*gib)(f)
		f.Memory.SwapOn = known(devices, "/proc/swaps")
	}
}

var memoryCases = []lookCase{
	{id: "MEM-009", name: "on", facts: reclaim(2, 1), want: Finding, evidence: "zone_reclaim_mode = 1",
		remedy: "vm.zone_reclaim_mode=0"},
	{id: "MEM-009", name: "off", facts: reclaim(2, 0), want: OK},
	{id: "MEM-009", name: "one node", facts: reclaim(1, 1), want: NotApplicable},
	{id: "MEM-009", name: "denied", facts: mem(func(m *host.Memory) { m.ZoneReclaim = denied[int64]("/proc/sys/vm/zone_reclaim_mode") }), want: Unknown},

	{id: "MEM-001", name: "always", facts: huge("[always] madvise never", "madvise"), want: Finding,
		evidence: "enabled = [always] madvise never", remedy: "echo madvise"},
	{id: "MEM-001", name: "always with PostgreSQL", facts: huge("[always] madvise never", "madvise", "postgresql"),
		want: Finding},
	{id: "MEM-001", name: "always with SQL Server alone", facts: huge("[always] madvise never", "madvise", "sqlserver"),
		want: OK},
	{id: "MEM-001", name: "always with SQL Server and another",
		facts: huge("[always] madvise never", "madvise", "sqlserver", "oracle"), want: Finding},
	{id: "MEM-001", name: "one size for all", facts: sizes("always [madvise] never", "[always] inherit madvise never",
		"[never]"), want: Finding,
		evidence: "hugepages-64kB/enabled = [always]",
		remedy:   "echo madvise | sudo tee " + thpDir + "/hugepages-64kB/enabled"},
	{id: "MEM-001", name: "sizes that follow", facts: sizes("always madvise [never]", "always [inherit] madvise never",
		"[never]"), want: OK},
	{id: "MEM-001", name: "shared memory", facts: sizes("always [madvise] never", "[never]", "[always] advise never"),
		want:   Finding,
		remedy: "echo never | sudo tee " + thpDir + "/shmem_enabled"},
	{id: "MEM-001", name: "kept at every boot", facts: huge("[always] madvise never", "madvise"), want: Finding,
		remedy: "printf 'w- %s - - - - %s\\n' " + thpDir + "/enabled madvise | sudo tee /etc/tmpfiles.d/hostlab-thp.conf"},
	{id: "MEM-001", name: "kept by TuneD", want: Finding, remedy: "a profile of TuneD is active, and may set it again",
		facts: func(f *host.Facts) {
			huge("[always] madvise never", "madvise")(f)
			f.Kernel.TunedProfile = known("throughput-performance", "/etc/tuned/active_profile")
		}},
	{id: "MEM-001", name: "madvise", facts: huge("always [madvise] never", "madvise"), want: OK},
	{id: "MEM-001", name: "never", facts: huge("always madvise [never]", "always"), want: OK},
	{id: "MEM-001", name: "development", role: Development, facts: huge("[always] madvise never", "madvise"),
		want: NotApplicable},
	{id: "MEM-001", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-001", name: "denied", facts: mem(func(m *host.Memory) {
		m.THPEnabled = denied[host.Choice](thpDir +
			"/enabled")
	}), want: Unknown},

	{id: "MEM-002", name: "always", facts: huge("always [madvise] never", "[always] defer madvise never"), want: Finding,
		remedy: "defrag"},
	{id: "MEM-002", name: "madvise", facts: huge("[always] madvise never", "always defer [madvise] never"), want: OK},
	{id: "MEM-002", name: "moot", facts: huge("always madvise [never]", "[always] defer madvise never"), want: OK},
	{id: "MEM-002", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-002", name: "error", facts: mem(func(m *host.Memory) {
		m.THPDefrag = failed[host.Choice](thpDir +
			"/defrag")
	}), want: Unknown},

	{id: "MEM-003", name: "runs", facts: mem(func(m *host.Memory) { m.KSM = known[int64](1, "/sys/kernel/mm/ksm/run") }),
		want: Finding, remedy: "echo 0"},
	{id: "MEM-003", name: "stopped", facts: mem(func(m *host.Memory) {
		m.KSM = known[int64](0,
			"/sys/kernel/mm/ksm/run")
	}), want: OK},
	{id: "MEM-003", name: "unmerged", facts: mem(func(m *host.Memory) {
		m.KSM = known[int64](2,
			"/sys/kernel/mm/ksm/run")
	}), want: OK},
	{id: "MEM-003", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-003", name: "denied", facts: mem(func(m *host.Memory) { m.KSM = denied[int64]("/sys/kernel/mm/ksm/run") }),
		want: Unknown},

	{id: "MEM-004", name: "on, two nodes", facts: numa(2, 1), want: Finding, detail: "2 memory nodes",
		remedy: "kernel.numa_balancing=0"},
	{id: "MEM-004", name: "tiering alone", facts: numa(4, 2), want: OK},
	{id: "MEM-004", name: "tiering stays", facts: also(serving("hana"), numa(4, 3)), want: Finding,
		remedy: "kernel.numa_balancing=2"},
	{id: "MEM-004", name: "off", facts: numa(2, 0), want: OK},
	{id: "MEM-004", name: "one node", facts: numa(1, 1), want: NotApplicable},
	{id: "MEM-004", name: "application server", role: ProductionApp, facts: numa(2, 1), want: NotApplicable},
	{id: "MEM-004", name: "denied", facts: mem(func(m *host.Memory) { m.NUMABalancing = denied[int64]("/proc/sys/kernel/numa_balancing") }), want: Unknown},

	{id: "MEM-005", name: "default on 512 GiB", facts: dirty(512*gib, 0, 0, 20, 10), want: Finding,
		detail: "writing starts at 51.2 GiB (10 % of the memory for files) of unwritten data, writers stop at 102 GiB",
		remedy: "vm.dirty_bytes=629145600"},
	{id: "MEM-005", name: "a file of its own, with its side effect", facts: dirty(512*gib, 0, 0, 20, 10), want: Finding,
		remedy: "echo vm.dirty_bytes=629145600 | sudo tee /etc/sysctl.d/90-hostlab-vm.dirty_bytes.conf # " +
			"replaces vm.dirty_ratio"},
	{id: "MEM-005", name: "default on 2 GiB", facts: dirty(2*gib, 0, 0, 20, 10), want: OK},
	{id: "MEM-005", name: "SAP bytes", facts: dirty(512*gib, 629145600, 314572800, 0, 0), want: OK},
	{id: "MEM-005", name: "PostgreSQL bytes", facts: dirty(512*gib, 536870912, 67108864, 0, 0), want: OK},
	{id: "MEM-005", name: "40 % of 512 GiB", facts: dirty(512*gib, 0, 0, 40, 10), want: Finding},
	{id: "MEM-005", name: "latency-performance on 24 GiB", facts: dirty(24*gib, 0, 0, 10, 3), want: OK},
	{id: "MEM-005", name: "less is not worse", facts: dirty(24*gib, 0, 0, 5, 1), want: OK},
	{id: "MEM-005", name: "most memory is in use by programs", facts: func(f *host.Facts) {
		dirty(512*gib, 0, 0, 20, 10)(f)
		f.Memory.Available = size(8*gib, "/proc/meminfo MemAvailable")
	}, want: OK},
	{id: "MEM-005", name: "a low hard limit begins the writing", facts: dirty(512*gib, 512<<20, 0, 0, 10), want: OK},
	{id: "MEM-005", name: "bytes too large", facts: dirty(512*gib, 64*gib, 32*gib, 0, 0), want: Finding, detail: "32 GiB"},
	{id: "MEM-005", name: "HANA alone", want: NotApplicable, detail: "here is SAP HANA",
		facts: also(running("hana"), dirty(512*gib, 0, 0, 20, 10))},
	{id: "MEM-005", name: "no server", want: NotApplicable, detail: "would apply to PostgreSQL",
		facts: func(f *host.Facts) {
			dirty(512*gib, 0, 0, 20, 10)(f)
			f.Databases = nil
		}},
	{id: "MEM-005", name: "memory unknown", want: Unknown, facts: func(f *host.Facts) {
		dirty(0, 0, 0, 20, 10)(f)
		f.Memory.Total, f.Memory.Available = failed[int64]("/proc/meminfo"), failed[int64]("/proc/meminfo")
	}},
	{id: "MEM-005", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-005", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		dirty(512*gib, 0, 0, 40, 10)(f)
		f.Memory.DirtyBytes = denied[int64](vmDir + "/dirty_bytes")
	}},

	{id: "MEM-006", name: "default", facts: swapping(60, 8*gib), want: Finding, evidence: "swappiness = 60",
		remedy: "vm.swappiness=10"},
	{id: "MEM-006", name: "10", facts: swapping(10, 8*gib), want: OK},
	{id: "MEM-006", name: "1", facts: swapping(1, 8*gib), want: OK},
	{id: "MEM-006", name: "0", facts: swapping(0, 8*gib), want: Finding, detail: "may end a program"},
	{id: "MEM-006", name: "TuneD would win over a file of sysfs, and loses to one of sysctls", want: Finding,
		remedy: "a profile of TuneD is active",
		facts: func(f *host.Facts) {
			swapping(60, 8*gib)(f)
			f.Kernel.TunedProfile = known("postgresql", "/etc/tuned/active_profile")
		}},
	{id: "MEM-006", name: "compressed memory", facts: swapOn(60, "/dev/zram0"), want: NotApplicable,
		detail: "compressed memory"},
	{id: "MEM-006", name: "compressed memory, then a disk", facts: swapOn(60, "/dev/zram0,/dev/sda2"), want: Finding},
	{id: "MEM-006", name: "no swap", facts: swapping(60, 0), want: OK, detail: "no swap"},
	{id: "MEM-006", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "MEM-006", name: "denied", facts: mem(func(m *host.Memory) {
		m.Swappiness = denied[int64](vmDir +
			"/swappiness")
	}), want: Unknown},
}

// reclaim is a host of some memory nodes with a mode of reclaim.
func reclaim(nodes int, mode int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.NUMA = make([]host.NUMANode, nodes)
		f.Memory.ZoneReclaim = known(mode, "/proc/sys/vm/zone_reclaim_mode")
	}
}
