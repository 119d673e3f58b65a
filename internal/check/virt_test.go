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

func power9(f *host.Facts) { f.Identity.CPUModel = known("POWER9", "/proc/cpuinfo") }

func amd64(f *host.Facts) { f.Identity.Arch = known("amd64", "/proc/cpuinfo") }

func arm64(f *host.Facts) { f.Identity.Arch = known("arm64", "/proc/cpuinfo") }

// isolated has the kernel keep CPUs from the scheduler.
func isolated(cpus ...int) func(*host.Facts) {
	return func(f *host.Facts) { f.Topology.Isolated = known(cpus, "/sys/devices/system/cpu/isolated") }
}

// coreLists gives each CPU the threads of its core.
func coreLists(lists ...host.Fact[[]int]) func(*host.Facts) {
	return func(f *host.Facts) {
		for i, l := range lists {
			f.Topology.CPUs = append(f.Topology.CPUs, host.CPU{ID: i, Siblings: l})
		}
	}
}

var virtCases = []lookCase{
	{id: "VRT-001", name: "7 %", facts: stolen(0.07, "kvm"), want: Finding, evidence: "7.00 %", remedy: "vmstat"},
	{id: "VRT-001", name: "2.1 %", facts: stolen(0.021, "kvm"), want: Finding},
	{id: "VRT-001", name: "2 %", facts: stolen(0.02, "kvm"), want: OK},
	{id: "VRT-001", name: "1 %", facts: stolen(0.01, "kvm"), want: OK},
	{id: "VRT-001", name: "bare metal", facts: stolen(0, "none"), want: NotApplicable},
	{id: "VRT-001", name: "stolen by nobody", facts: stolen(0.19, "none"), want: Unknown,
		detail: "not known who took 19.00 %"},
	{id: "VRT-001", name: "error", want: Unknown,
		facts: func(f *host.Facts) { f.Virt.Steal = failed[float64]("/proc/stat") }},

	{id: "VRT-003", name: "isolated CPUs", want: Finding, evidence: "/sys/devices/system/cpu/isolated = 6-7",
		detail: "the kernel isolates 6-7",
		remedy: "isolcpus=", facts: also(isolated(6, 7), online(8), serving("postgresql", onCPUs(6)))},
	{id: "VRT-003", name: "isolated CPUs, and fewer still", want: Finding, detail: "isolates 6-7", remedy: "CPUAffinity=",
		facts: also(isolated(6, 7), online(8), serving("postgresql", onCPUs(4)))},
	{id: "VRT-003", name: "other CPUs are isolated", want: Finding, remedy: "CPUAffinity=",
		facts: also(isolated(0), online(6), serving("postgresql", onCPUs(4)))},

	{id: "SMT-001", name: "a kernel that cannot switch it", want: Finding, evidence: "core_cpus_list = 0-1",
		facts: also(plugged(upTo(2), upTo(2), "notimplemented"),
			coreLists(known([]int{0, 1}, "core_cpus_list"), known([]int{0, 1}, "core_cpus_list")))},
	{id: "SMT-001", name: "a kernel that cannot switch it, on cores of one thread", want: OK,
		facts: also(plugged(upTo(2), upTo(2), "notimplemented"),
			coreLists(known([]int{0}, "core_cpus_list"), known([]int{1}, "core_cpus_list")))},
	{id: "SMT-001", name: "a kernel that cannot switch it, and threads that nobody may see", want: Unknown,
		facts: also(plugged(upTo(2), upTo(2), "notimplemented"),
			coreLists(known([]int{0}, "core_cpus_list"), denied[[]int]("core_cpus_list")))},

	{id: "VRT-004", name: "two runs off", facts: plugged(upTo(8), []int{0, 1, 5}, "on"), want: Finding,
		detail: "5 CPUs are present and offline: 2-4,6-7",
		remedy: "echo 1 | sudo tee /sys/devices/system/cpu/cpu2/online /sys/devices/system/cpu/cpu3/online"},
	{id: "VRT-004", name: "errors first", facts: plugged(upTo(8), []int{0, 1, 5}, "on"), want: Finding,
		remedy: "sudo dmesg"},
	{id: "VRT-004", name: "all online", facts: plugged(upTo(8), upTo(8), "on"), want: OK},
	{id: "VRT-004", name: "siblings, SMT off", facts: plugged(upTo(8), upTo(4), "off"), want: OK, detail: "siblings"},
	{id: "VRT-004", name: "more than siblings", facts: plugged(upTo(8), upTo(2), "off"), want: Finding},
	{id: "VRT-004", name: "each core of Power has eight threads, SMT off", want: OK, detail: "siblings",
		facts: plugged(upTo(32), []int{0, 8, 16, 24}, "off")},
	{id: "VRT-004", name: "and one core is off by hand", want: Finding, detail: "8 CPUs are present and offline: 16-23",
		facts: plugged(upTo(32), []int{0, 8, 24}, "off")},
	{id: "VRT-004", name: "SMT limited to a number of threads", want: OK, detail: "limited",
		facts: plugged(upTo(16), []int{0, 1, 2, 3, 8, 9, 10, 11}, "4")},
	{id: "VRT-004", name: "SMT limited, and a core off", want: Finding, detail: "offline: 8-15",
		facts: plugged(upTo(24), []int{0, 1, 16, 17}, "2")},
	{id: "VRT-004", name: "Power without the control, by ppc64_cpu", want: OK,
		facts: also(power9, plugged(upTo(16), []int{0, 8}, "notimplemented"))},
	{id: "VRT-004", name: "Power without the control, cores unlike", want: Finding,
		facts: also(power9, plugged(upTo(16), []int{0, 8, 9}, "notimplemented"))},
	{id: "VRT-004", name: "no SMT at all", want: Finding, facts: plugged(upTo(4), []int{0, 2}, "notsupported")},
	{id: "VRT-004", name: "threads of a core side by side on x86", want: Finding, detail: "offline: 4-5",
		facts: also(amd64, plugged(upTo(8), []int{0, 2, 6}, "off"))},
	{id: "VRT-004", name: "Arm with four threads a core", want: OK, facts: also(arm64, plugged(upTo(16), upTo(4), "off"))},
	{id: "VRT-004", name: "not known", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "VRT-004", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		plugged(upTo(8), upTo(8), "on")(f)
		f.Topology.Present = denied[[]int]("/sys/devices/system/cpu/present")
	}},
}

var cloudCases = []lookCase{
	{id: "NET-010", name: "held back", want: Finding, evidence: "pps = 946",
		facts: heldPackets(known[int64](946, "ethtool -S ens5 pps"))},
	{id: "NET-010", name: "none", want: OK, facts: heldPackets(known[int64](0, "x"))},
	{id: "NET-010", name: "packets", want: Finding, remedy: "larger network allowance",
		facts: heldPackets(known[int64](946, "x"))},
	{id: "NET-010", name: "to DNS", want: Finding, remedy: "# cache answers of DNS on this host", facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", Packets: known[int64](0, "x"), LinkLocal: known[int64](7, "x")}}
	}},
	{id: "NET-010", name: "tracked", want: Finding, remedy: "not tracked", facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", Tracked: known[int64](7, "x")}}
	}},
	{id: "NET-010", name: "an old driver", want: NotApplicable, facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5"}}
	}},
	{id: "NET-010", name: "denied", want: Unknown, facts: heldPackets(denied[int64]("x"))},
	{id: "NET-010", name: "no such driver", want: NotApplicable, facts: func(*host.Facts) {}, detail: "other clouds"},
	{id: "STO-015", name: "beyond its IOPS", want: Finding,
		detail: "nvme1n1 was asked for more than the volume's limit of IOPS for 1200 s",
		remedy: "modify-volume", facts: beyondLimit(known(1200.0, "x"), known(0.0, "x"))},
	{id: "STO-015", name: "beyond the instance's", want: Finding, detail: "the instance's limit of throughput",
		facts: beyondLimit(known(0.0, "x"), known(61.0, "x"))},
	{id: "STO-015", name: "for a moment", want: OK, facts: beyondLimit(known(12.0, "x"), known(0.0, "x"))},
	{id: "STO-015", name: "denied", want: Unknown, facts: beyondLimit(denied[float64]("x"), denied[float64]("x"))},
	{id: "STO-015", name: "another cloud", want: NotApplicable, facts: func(*host.Facts) {}, detail: "other clouds"},
}

// heldPackets is an interface of ENA whose driver counts two limits.
func heldPackets(packets host.Fact[int64]) func(f *host.Facts) {
	return func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", In: known[int64](0, "x"), Packets: packets}}
	}
}

// beyondLimit is a volume that was beyond its limit of IOPS and its instance's of throughput for so long.
func beyondLimit(iops, instance host.Fact[float64]) func(f *host.Facts) {
	return func(f *host.Facts) {
		f.CloudVolumes = []host.CloudVolume{{Name: "nvme1n1", VolumeIOPS: iops, InstanceThroughput: instance}}
	}
}
