package check

import "hostlab/internal/host"

func stolen(share float64, hypervisor string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Virt.Steal, f.Virt.Hypervisor = known(share, "/proc/stat"), known(hypervisor, "cpuid")
	}
}

func limited(quota float64, cpus int) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Limits.CgroupV = known(2, "/proc/self/cgroup")
		f.Limits.Cgroup = known("/docker/abc", "/proc/self/cgroup")
		f.Limits.Affinity = known(upTo(cpus), "sched_getaffinity")
		f.Limits.CPUQuota = absent[float64]("/sys/fs/cgroup/cpu.max")
		if quota > 0 {
			f.Limits.CPUQuota = host.Known(quota, "CPUs", "/sys/fs/cgroup/docker/abc/cpu.max")
		}
	}
}

func allowed(n, online int) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Limits.Affinity = known(upTo(n), "sched_getaffinity")
		f.Topology.Online = known(upTo(online), "/sys/devices/system/cpu/online")
	}
}

func plugged(present, online []int, control string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.Present = known(present, "/sys/devices/system/cpu/present")
		f.Topology.Online = known(online, "/sys/devices/system/cpu/online")
		f.Topology.Offline = known([]int{100}, "/sys/devices/system/cpu/offline") // possible, never plugged in
		f.Topology.SMTControl = known(control, "/sys/devices/system/cpu/smt/control")
	}
}

var virtCases = []lookCase{
	{id: "VRT-001", name: "7 %", facts: stolen(0.07, "kvm"), want: Finding, evidence: "7.00 %", remedy: "vmstat"},
	{id: "VRT-001", name: "2.1 %", facts: stolen(0.021, "kvm"), want: Finding},
	{id: "VRT-001", name: "2 %", facts: stolen(0.02, "kvm"), want: OK},
	{id: "VRT-001", name: "1 %", facts: stolen(0.01, "kvm"), want: OK},
	{id: "VRT-001", name: "bare metal", facts: stolen(0, "none"), want: NotApplicable},
	{id: "VRT-001", name: "error", want: Unknown, facts: func(f *host.Facts) { f.Virt.Steal = failed[float64]("/proc/stat") }},

	{id: "VRT-002", name: "two of eight", facts: limited(2, 8), want: Finding, evidence: "cpu.max = 2 CPUs", detail: "8 CPUs", remedy: "throttled /sys/fs/cgroup/docker/abc/cpu.stat"},
	{id: "VRT-002", name: "version 1", want: Finding, remedy: "throttled /sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat", facts: func(f *host.Facts) {
		limited(2, 8)(f)
		f.Limits.CgroupV = known(1, "/proc/self/cgroup")
		f.Limits.CPUQuota = host.Known(2.0, "CPUs", "/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us")
	}},
	{id: "VRT-002", name: "one and a half of two", facts: limited(1.5, 2), want: Finding, evidence: "1.5 CPUs"},
	{id: "VRT-002", name: "all of it", facts: limited(8, 8), want: OK},
	{id: "VRT-002", name: "no quota", facts: limited(0, 8), want: OK, detail: "no cgroup"},
	{id: "VRT-002", name: "no cgroups", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "VRT-002", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		limited(0, 8)(f)
		f.Limits.CPUQuota = denied[float64]("/sys/fs/cgroup/cpu.max")
	}},
	{id: "VRT-002", name: "CPUs not known", want: NotApplicable, facts: func(f *host.Facts) { f.Limits.CPUQuota = known(2.0, "/sys/fs/cgroup/cpu.max") }},

	{id: "VRT-003", name: "two of eight", facts: allowed(2, 8), want: Finding, evidence: "sched_getaffinity = 0-1", detail: "2 of 8 online CPUs"},
	{id: "VRT-003", name: "all", facts: allowed(8, 8), want: OK},
	{id: "VRT-003", name: "not known", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "VRT-003", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		allowed(8, 8)(f)
		f.Topology.Online = denied[[]int]("/sys/devices/system/cpu/online")
	}},

	{id: "VRT-004", name: "two runs off", facts: plugged(upTo(8), []int{0, 1, 5}, "on"), want: Finding, detail: "5 CPUs are present and offline: 2-4,6-7",
		remedy: "echo 1 | sudo tee /sys/devices/system/cpu/cpu*/online"},
	{id: "VRT-004", name: "all online", facts: plugged(upTo(8), upTo(8), "on"), want: OK},
	{id: "VRT-004", name: "siblings, SMT off", facts: plugged(upTo(8), upTo(4), "off"), want: OK, detail: "siblings"},
	{id: "VRT-004", name: "more than siblings", facts: plugged(upTo(8), upTo(2), "off"), want: Finding},
	{id: "VRT-004", name: "not known", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "VRT-004", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		plugged(upTo(8), upTo(8), "on")(f)
		f.Topology.Present = denied[[]int]("/sys/devices/system/cpu/present")
	}},
}
