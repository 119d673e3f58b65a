package check

import "hostlab/internal/host"

// preempts has PostgreSQL with a cache of 16 GiB on 96 CPUs.
func preempts(model host.Fact[string], huge host.Fact[int64]) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Threads = known(96, "/sys/devices/system/cpu/present")
		f.Identity.Preemption = model
		f.Databases = []host.Database{{Kind: "postgresql", PID: 700, SharedMemory: size(16*gib, "/proc/700/smaps"), HugePages: huge}}
	}
}

func extended(state host.Fact[string]) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.SchedExt = state })
}

// untorn has a MariaDB whose data are on a device that writes so many bytes wholly.
func untorn(atomic host.Fact[int64]) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Databases = []host.Database{{Kind: "mariadb", PID: 700, DataDir: known("/data", "arguments")}}
		f.Data = []host.Storage{{Path: "/data", FSType: known("ext4", "mountinfo"),
			Stack: []host.StackLayer{{Name: "nvme1n1p1"}, {Name: "nvme1n1", Queue: &host.BlockDevice{Name: "nvme1n1", AtomicWrite: atomic}}}}}
	}
}

// spread has a PostgreSQL on two nodes of 64 GiB and 4 CPUs each, which may use some of the CPUs.
func spread(memory host.Fact[[]int64], cpus ...int) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Online = known([]int{0, 1, 2, 3, 4, 5, 6, 7}, "/sys/devices/system/cpu/online")
		f.Topology.NUMA = []host.NUMANode{{ID: 0, CPUs: known([]int{0, 1, 2, 3}, "node0"), Memory: size(64*gib, "node0")},
			{ID: 1, CPUs: known([]int{4, 5, 6, 7}, "node1"), Memory: size(64*gib, "node1")}}
		f.Databases = []host.Database{{Kind: "postgresql", PID: 700, NodeMemory: memory,
			Limits: host.Limits{Affinity: known(cpus, "/proc/700/status"), Cgroup: known("/system.slice/pg.service", "cgroup")}}}
	}
}

func onNodes(gibs ...int64) host.Fact[[]int64] {
	list := make([]int64, len(gibs))
	for i, g := range gibs {
		list[i] = g * gib
	}
	return host.Known(list, "B", "/proc/700/numa_maps")
}

// sliced has such slices on 96 CPUs.
func sliced(slice host.Fact[float64]) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Threads, f.Kernel.BaseSlice = known(96, "/sys/devices/system/cpu/present"), slice
	}
}

const sliceFile = "/sys/kernel/debug/sched/base_slice_ns"
const granularityFile = "/sys/kernel/debug/sched/min_granularity_ns"
const preemptFile, extFile = "/sys/kernel/debug/sched/preempt", "/sys/kernel/sched_ext/state"
const atomicFile = "/sys/block/nvme1n1/queue/atomic_write_unit_max_bytes"

var schedulerCases = []lookCase{
	{id: "KRN-017", name: "lazy", want: Finding, remedy: "SRV-001",
		facts: preempts(known("lazy", preemptFile), size(0, "/proc/700/smaps"))},
	{id: "KRN-017", name: "none", want: OK, facts: preempts(known("none", preemptFile), size(0, "/proc/700/smaps"))},
	{id: "KRN-017", name: "huge pages", want: OK,
		facts: preempts(denied[string](preemptFile), size(16*gib, "/proc/700/smaps"))},
	{id: "KRN-017", name: "another model", want: Unknown, facts: preempts(known("rare", preemptFile), size(0, "/proc/700/smaps"))},
	{id: "KRN-017", name: "model hidden", want: Unknown, facts: preempts(denied[string](preemptFile), size(0, "/proc/700/smaps"))},
	{id: "KRN-017", name: "pages hidden", want: Unknown,
		facts: preempts(known("full", preemptFile), denied[int64]("/proc/700/smaps"))},
	{id: "KRN-017", name: "few CPUs", want: NotApplicable, facts: func(f *host.Facts) {
		preempts(known("full", preemptFile), size(0, "/proc/700/smaps"))(f)
		f.Topology.Threads = known(16, "/sys/devices/system/cpu/present")
	}},
	{id: "KRN-018", name: "a program", want: Finding, facts: extended(known("enabled", extFile))},
	{id: "KRN-018", name: "none", want: OK, facts: extended(known("disabled", extFile))},
	{id: "KRN-018", name: "another state", want: Unknown, facts: extended(known("bypassed", extFile))},
	{id: "KRN-018", name: "not built", want: NotApplicable, facts: extended(host.Fact[string]{State: host.StateAbsent})},
	{id: "KRN-019", name: "short", want: Finding, facts: sliced(known(1.4e-3, sliceFile)),
		remedy: "sudo cat " + sliceFile},
	{id: "KRN-019", name: "older kernel", want: Finding, facts: sliced(known(1.4e-3, granularityFile)),
		remedy: "sudo cat " + granularityFile},
	{id: "KRN-019", name: "CPUs hidden", want: Unknown, facts: func(f *host.Facts) {
		sliced(known(1.4e-3, sliceFile))(f)
		f.Topology.Threads = denied[int]("/sys/devices/system/cpu/present")
	}},
	{id: "KRN-019", name: "the kernel's own", want: OK, facts: sliced(known(2.8e-3, sliceFile))},
	{id: "KRN-019", name: "tuned's", want: OK, facts: sliced(known(10e-3, sliceFile))},
	{id: "KRN-019", name: "not root", want: Unknown, facts: sliced(denied[float64](sliceFile))},
	{id: "KRN-019", name: "not mounted", want: NotApplicable, facts: sliced(absent[float64](sliceFile))},
	{id: "MEM-012", name: "one node", want: Finding, facts: spread(onNodes(30, 1), 0, 1, 2, 3, 4, 5, 6, 7),
		remedy: "NUMAPolicy=interleave", evidence: "/proc/700/numa_maps = 30 GiB, 1 GiB"},
	{id: "MEM-012", name: "threads there", want: OK, facts: spread(onNodes(30, 1), 0, 1, 2)},
	{id: "MEM-012", name: "CPUs that are not there", want: OK, facts: func(f *host.Facts) { // node 1 is memory alone
		spread(onNodes(30, 1), 0, 1, 2, 3, 4, 5, 6, 7)(f)
		f.Topology.Online = known([]int{0, 1, 2, 3}, "/sys/devices/system/cpu/online")
	}},
	{id: "MEM-012", name: "CPUs not known", want: Unknown, facts: func(f *host.Facts) {
		spread(onNodes(30, 1), 0, 4)(f)
		f.Databases[0].Limits.Affinity = denied[[]int]("/proc/700/status")
	}},
	{id: "MEM-012", name: "spread", want: OK, facts: spread(onNodes(16, 15), 0, 1, 2, 3, 4, 5, 6, 7)},
	{id: "MEM-012", name: "small", want: OK, facts: spread(onNodes(2, 0), 0, 1, 2, 3, 4, 5, 6, 7)},
	{id: "MEM-012", name: "denied", want: Unknown, facts: spread(denied[[]int64]("/proc/700/numa_maps"), 0, 4)},
	{id: "MEM-012", name: "another host's", want: Unknown, facts: spread(onNodes(1, 2, 3), 0, 4)},
	{id: "MEM-012", name: "one node of all", want: NotApplicable, facts: func(f *host.Facts) {
		spread(onNodes(30, 1), 0, 4)(f)
		f.Topology.NUMA = f.Topology.NUMA[:1]
	}},
	{id: "STO-014", name: "whole", want: Finding, facts: untorn(size(64<<10, atomicFile))},
	{id: "STO-014", name: "smaller than a page", want: OK, facts: untorn(size(4<<10, atomicFile))},
	{id: "STO-014", name: "denied", want: Unknown, facts: untorn(denied[int64](atomicFile))},
	{id: "STO-014", name: "older kernel", want: NotApplicable, facts: untorn(host.Fact[int64]{State: host.StateAbsent})},
}
