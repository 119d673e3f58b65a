package check

import "hostlab/internal/host"

func stolen(share float64, hypervisor string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Virt.Steal, f.Virt.Hypervisor = known(share, "/proc/stat"), known(hypervisor, "cpuid")
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

	{id: "VRT-004", name: "two runs off", facts: plugged(upTo(8), []int{0, 1, 5}, "on"), want: Finding, detail: "5 CPUs are present and offline: 2-4,6-7",
		remedy: "echo 1 | sudo tee /sys/devices/system/cpu/cpu2/online /sys/devices/system/cpu/cpu3/online"},
	{id: "VRT-004", name: "errors first", facts: plugged(upTo(8), []int{0, 1, 5}, "on"), want: Finding, remedy: "sudo dmesg"},
	{id: "VRT-004", name: "all online", facts: plugged(upTo(8), upTo(8), "on"), want: OK},
	{id: "VRT-004", name: "siblings, SMT off", facts: plugged(upTo(8), upTo(4), "off"), want: OK, detail: "siblings"},
	{id: "VRT-004", name: "more than siblings", facts: plugged(upTo(8), upTo(2), "off"), want: Finding},
	{id: "VRT-004", name: "not known", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "VRT-004", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		plugged(upTo(8), upTo(8), "on")(f)
		f.Topology.Present = denied[[]int]("/sys/devices/system/cpu/present")
	}},
}
