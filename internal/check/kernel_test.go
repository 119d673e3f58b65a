package check

import (
	"context"
	"math"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

const kernDir = "/proc/sys/kernel"

func segments(maximum, pages uint64, total int64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.ShmMax, m.ShmAll = host.Known(maximum, "B", kernDir+"/shmmax"), known(pages, kernDir+"/shmall")
		m.Total, m.PageSize = size(total, "/proc/meminfo"), size(4096, "getpagesize")
	})
}

func kern(set func(k *host.Kernel)) func(*host.Facts) {
	return func(f *host.Facts) { set(&f.Kernel) }
}

func clock(active, offered, hypervisor string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Kernel.Clocksource = known(active, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
		f.Kernel.Clocksources = known(offered, "/sys/devices/system/clocksource/clocksource0/available_clocksource")
		f.Virt.Hypervisor = known(hypervisor, "cpuid")
	}
}

func nvme(product, model, kernel string, timeout uint64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Identity.Product, f.Identity.Kernel = known(product, "/sys/class/dmi/id"), known(kernel, "uname")
		f.Block = []host.BlockDevice{{Name: "nvme0n1", Model: known(model, "/sys/block/nvme0n1/device/model"),
			Class: host.ClassNVMe}}
		f.Kernel.NVMeIOTimeout = host.Known(timeout, "s", "/sys/module/nvme_core/parameters/io_timeout")
	}
}

// waiting is a volume with a timeout of its own, in s, under a driver with the longest for those to come.
func waiting(s float64) func(*host.Facts) {
	return func(f *host.Facts) {
		nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", math.MaxUint32)(f)
		f.Block[0].IOTimeout = host.Known(s, "s", "/sys/block/nvme0n1/queue/io_timeout")
	}
}

var kernelCases = []lookCase{

	{id: "KRN-002", name: "smaller than memory", facts: segments(32<<20, 1<<60, 8*gib), want: Finding,
		remedy: "kernel.shmmax="},
	{id: "KRN-002", name: "kernel's default", facts: segments(18446744073692774399, 1<<60, 8*gib), want: OK},
	{id: "KRN-002", name: "memory unknown", want: NotApplicable,
		facts: mem(func(m *host.Memory) { m.ShmMax = known[uint64](1, kernDir+"/shmmax") })},
	{id: "KRN-002", name: "error", want: Unknown, facts: func(f *host.Facts) {
		segments(1, 1, 1)(f)
		f.Memory.ShmMax = failed[uint64](kernDir + "/shmmax")
	}},

	{id: "KRN-003", name: "2 MiB pages' worth", facts: segments(math.MaxUint64, 2<<20-1, 8*gib), want: Finding,
		remedy: "kernel.shmall="},
	{id: "KRN-003", name: "just all memory", facts: segments(math.MaxUint64, 2<<20, 8*gib), want: OK},
	{id: "KRN-003", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "KRN-003", name: "page size unknown", want: Unknown, facts: func(f *host.Facts) {
		segments(1, 1, 1)(f)
		f.Memory.PageSize = failed[int64]("getpagesize")
	}},

	{id: "KRN-007", name: "hpet", facts: clock("hpet", "hpet acpi_pm", "none"), want: Finding, detail: "no better source",
		remedy: "dmesg"},
	{id: "KRN-007", name: "xen with tsc offered", facts: clock("xen", "xen tsc hpet", "xen"), want: Finding,
		remedy: "echo tsc"},
	{id: "KRN-007", name: "Hyper-V by register", facts: clock("hyperv_clocksource_msr", "hyperv_clocksource_msr",
		"hyper-v"), want: Finding},
	{id: "KRN-007", name: "tsc", facts: clock("tsc", "tsc hpet", "none"), want: OK},
	{id: "KRN-007", name: "kvm-clock on KVM", facts: clock("kvm-clock", "kvm-clock tsc", "kvm"), want: OK},
	{id: "KRN-007", name: "Hyper-V's page", facts: clock("hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page",
		"hyper-v"), want: OK},
	{id: "KRN-007", name: "arm64", facts: clock("arch_sys_counter", "arch_sys_counter", "none"), want: OK},
	{id: "KRN-007", name: "development", role: Development, facts: clock("hpet", "hpet", "none"), want: Finding},
	{id: "KRN-007", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "KRN-007", name: "denied", want: Unknown,
		facts: kern(func(k *host.Kernel) { k.Clocksource = denied[string]("current_clocksource") })},

	{id: "KRN-008", name: "default on AWS", facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", 30),
		want:     Finding,
		evidence: "io_timeout = 30 s", remedy: "echo 4294967295"},
	{id: "KRN-008", name: "known by the volume in a container", facts: nvme("", "Amazon Elastic Block Store", "6.1.0", 30),
		want: Finding},
	{id: "KRN-008", name: "an attached volume keeps its own", want: Finding, evidence: "nvme0n1/queue/io_timeout = 30 s",
		remedy: "echo 4294967295 | sudo tee /sys/block/nvme0n1/queue/io_timeout", facts: waiting(30)},
	{id: "KRN-008", name: "an attached volume waits, as the kernel shows it", want: OK, facts: waiting(4294966.296)},
	{id: "KRN-008", name: "an attached volume's own cannot be read", want: Unknown, facts: func(f *host.Facts) {
		waiting(30)(f)
		f.Block[0].IOTimeout = denied[float64]("/sys/block/nvme0n1/queue/io_timeout")
	}},
	{id: "KRN-008", name: "a local disk of AWS", facts: nvme("Amazon EC2 i4i.large", "Amazon EC2 NVMe Instance Storage",
		"6.1.0", 30), want: NotApplicable},
	{id: "KRN-008", name: "longest", facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0",
		math.MaxUint32), want: OK},
	{id: "KRN-008", name: "longest of an old kernel",
		facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "4.14.355-aws", 255), want: OK},
	{id: "KRN-008", name: "255 on a newer kernel",
		facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "5.10.0", 255), want: Finding},
	{id: "KRN-008", name: "elsewhere", facts: nvme("Dell Inc. PowerEdge", "Samsung", "6.1.0", 30), want: NotApplicable},
	{id: "KRN-008", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", 30)(f)
		f.Kernel.NVMeIOTimeout = denied[uint64]("/sys/module/nvme_core/parameters/io_timeout")
	}},
}

// Where /proc and /sys are hidden nothing is cleared: what every Linux has is
// unknown, and so is what the CPUs and disks would show.
func TestBehindMasks(t *testing.T) {
	f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, "-- proc/ --\n-- sys/ --\n")}})
	for _, r := range Run(f, ProductionDB, All()) {
		// What says that it was not looked for clears nothing either.
		elsewhere := r.Detail == notWindows || strings.HasPrefix(r.Detail, "not judged for the role") ||
			strings.Contains(r.Detail, "log director") || strings.HasPrefix(r.Detail, "would apply to") ||
			r.ID == "KRN-009" // a call
		switch {
		case r.Status == Unknown && strings.Contains(r.Detail, "missing or masked"):
		case r.Status == NotApplicable && elsewhere:
		default:
			t.Errorf("%s is %s: %s", r.ID, r.Status, r.Detail)
		}
	}
}

// A policy without an online CPU answers EBUSY to everything and decides nothing;
// one with a CPU online that does so stays unknown.
func TestPoliciesOfOfflineCPUs(t *testing.T) {
	busy := host.Fact[string]{Source: "scaling_governor", State: host.StateError, Reason: "device or resource busy"}
	cpus := host.Fact[[]int]{Source: "affected_cpus", State: host.StateError, Reason: "device or resource busy"}
	for _, c := range []struct {
		name   string
		policy host.Policy
		want   Status
	}{
		{"its CPU is offline", host.Policy{ID: 1, Governor: busy, Driver: busy, Affected: cpus, CPUs: cpus}, OK},
		{"no CPU is affected", host.Policy{ID: 2, Governor: busy, Driver: busy, Affected: known([]int{}, "affected_cpus")},
			OK},
		{"its CPU is online", host.Policy{ID: 2, Governor: busy, Driver: busy, Affected: cpus, CPUs: cpus}, Unknown},
		{"one of its CPUs is online", host.Policy{ID: 1, Governor: busy, Driver: busy, Affected: cpus,
			CPUs: known([]int{1, 2}, "related_cpus")}, Unknown},
	} {
		f := &host.Facts{}
		f.Topology.Online = known([]int{0, 2}, "online")
		f.Frequency.Policies = []host.Policy{
			{ID: 0, Governor: known("performance", "g"), Driver: known("acpi-cpufreq", "d"), Affected: known([]int{0}, "a")},
			c.policy,
		}
		if r := Run(f, ProductionDB, power[:1])[0]; r.Status != c.want {
			t.Errorf("%s: %s, want %s: %s", c.name, r.Status, c.want, r.Detail)
		}
	}
}

const pstateDir = "/sys/devices/system/cpu/intel_pstate"

func ranged(n int, max, hwmax float64, table ...int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Frequency.Policies = policies(n, func(p *host.Policy, dir string) {
			p.Max, p.HWMax = hz(max, dir+"/scaling_max_freq"), hz(hwmax, dir+"/cpuinfo_max_freq")
			if len(table) > 0 {
				p.PStates = host.Known(table, "Hz", dir+"/scaling_available_frequencies")
			}
		})
	}
}

func profiled(now, choices string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Frequency.PlatformProfile = known(now, "/sys/firmware/acpi/platform_profile")
		f.Frequency.ProfileChoices = known(choices, "/sys/firmware/acpi/platform_profile_choices")
	}
}

var limitsCases = []lookCase{
	{id: "PWR-005", name: "no_turbo", want: Finding, evidence: "no_turbo = 1", remedy: "echo 0",
		facts: func(f *host.Facts) { f.Frequency.NoTurbo = known(true, pstateDir+"/no_turbo") }},
	{id: "PWR-005", name: "global boost off", want: Finding, evidence: "boost = 0", remedy: "cpufreq/boost",
		facts: func(f *host.Facts) { f.Frequency.CPUFreqBoost = known(false, "/sys/devices/system/cpu/cpufreq/boost") }},
	{id: "PWR-005", name: "one policy's boost off", want: Finding, evidence: "policy1/boost = 0", remedy: "policy*/boost",
		facts: func(f *host.Facts) {
			f.Frequency.CPUFreqBoost = known(true, "/sys/devices/system/cpu/cpufreq/boost")
			f.Frequency.Policies = policies(2, func(p *host.Policy, dir string) { p.Boost = known(p.ID != 1, dir+"/boost") })
		}},
	{id: "PWR-005", name: "on", want: OK, facts: func(f *host.Facts) {
		f.Frequency.NoTurbo = known(false,
			pstateDir+"/no_turbo")
	}},
	{id: "PWR-005", name: "only the summary is known", want: OK,
		facts: func(f *host.Facts) { f.Frequency.Boost = known(true, "some file") }},
	{id: "PWR-005", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "PWR-005", name: "denied", want: Unknown,
		facts: func(f *host.Facts) { f.Frequency.NoTurbo = denied[bool](pstateDir + "/no_turbo") }},

	{id: "PWR-007", name: "capped", facts: ranged(4, 2, 3.1), want: Finding,
		evidence: "policy{0-3}/scaling_max_freq = 2 GHz of 3.1 GHz", remedy: "tee $p/scaling_max_freq"},
	{id: "PWR-007", name: "capped in percent", want: Finding, evidence: "max_perf_pct = 70 %", remedy: "max_perf_pct",
		facts: func(f *host.Facts) {
			ranged(1, 3.1, 3.1)(f)
			f.Frequency.MaxPerfPct = host.Known[int64](70, "%", pstateDir+"/max_perf_pct")
		}},
	{id: "PWR-007", name: "open", facts: ranged(4, 3.1, 3.1), want: OK},
	{id: "PWR-007", name: "acpi-cpufreq's boosted cpuinfo_max is no cap",
		facts: ranged(4, 2.45, 3.529052, 2450000000, 2000000000, 1500000000), want: OK},
	{id: "PWR-007", name: "a cap within the table is", facts: ranged(4, 2, 3.529052, 2450000000, 2000000000, 1500000000),
		want: Finding},
	{id: "PWR-007", name: "none", facts: ranged(0, 0, 0), want: NotApplicable},
	{id: "PWR-007", name: "maximum unreadable", want: Unknown, facts: func(f *host.Facts) {
		ranged(1, 3.1, 3.1)(f)
		f.Frequency.Policies[0].HWMax = failed[int64](cpufreqDir + "0/cpuinfo_max_freq")
	}},

	{id: "PWR-008", name: "capped by firmware", want: Finding, evidence: "bios_limit = 1.2 GHz of 2.4 GHz",
		remedy: "ipmitool", facts: func(f *host.Facts) {
			ranged(2, 2.4, 2.4, 2400000000, 1200000000)(f)
			for i := range f.Frequency.Policies {
				f.Frequency.Policies[i].BIOSLimit = hz(1.2, cpufreqDir+"0/bios_limit")
			}
		}},
	{id: "PWR-008", name: "no cap", want: OK, facts: func(f *host.Facts) {
		ranged(1, 2.45, 3.529052, 2450000000, 1500000000)(f)
		f.Frequency.Policies[0].BIOSLimit = hz(2.45, cpufreqDir+"0/bios_limit")
	}},
	{id: "PWR-008", name: "not reported", facts: ranged(1, 2, 2), want: NotApplicable},
	{id: "PWR-008", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		ranged(1, 2, 2)(f)
		f.Frequency.Policies[0].BIOSLimit = denied[int64](cpufreqDir + "0/bios_limit")
	}},

	{id: "PWR-009", name: "balanced", facts: profiled("balanced", "low-power balanced performance"), want: Finding,
		remedy: "platform_profile"},
	{id: "PWR-009", name: "performance", facts: profiled("performance", "low-power balanced performance"), want: OK},
	{id: "PWR-009", name: "not offered", facts: profiled("quiet", "quiet balanced"), want: NotApplicable,
		detail: "offers no"},
	{id: "PWR-009", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "PWR-009", name: "error", want: Unknown, facts: func(f *host.Facts) {
		f.Frequency.PlatformProfile = failed[string]("/sys/firmware/acpi/platform_profile")
	}},
}
