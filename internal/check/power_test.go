package check

import (
	"fmt"

	"hostlab/internal/host"
)

// governed makes policies under a driver and governor; epp "" means no such file.
func governed(n int, driver, gov, epp string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Frequency.Policies = policies(n, func(p *host.Policy, dir string) {
			p.Driver = known(driver, dir+"/scaling_driver")
			p.Governor = known(gov, dir+"/scaling_governor")
			p.EPP = absent[string](dir + "/energy_performance_preference")
			if epp != "" {
				p.EPP = known(epp, dir+"/energy_performance_preference")
			}
		})
	}
}

func biased(values ...int64) func(*host.Facts) {
	return func(f *host.Facts) {
		for i, v := range values {
			f.Frequency.EPB = append(f.Frequency.EPB, host.CPUValue[int64]{CPU: i,
				Value: known(v, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/power/energy_perf_bias", i))})
		}
	}
}

var powerCases = []lookCase{
	{id: "PWR-001", name: "acpi-cpufreq powersave on 512 CPUs", facts: governed(512, "acpi-cpufreq", "powersave", ""),
		want:     Finding,
		evidence: cpufreqDir + "{0-511}/scaling_governor = powersave",
		remedy:   "tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"},
	{id: "PWR-001", name: "ondemand on an application server", role: ProductionApp,
		facts: governed(4, "acpi-cpufreq", "ondemand", ""), want: Finding},
	{id: "PWR-001", name: "performance", facts: governed(2, "acpi-cpufreq", "performance", ""), want: OK},
	{id: "PWR-001", name: "development may save", role: Development, facts: governed(2, "acpi-cpufreq", "powersave", ""),
		want:   NotApplicable,
		detail: "may save energy"},
	{id: "PWR-001", name: "intel_pstate without HWP computes in the kernel",
		facts: governed(2, "intel_pstate", "powersave", ""), want: Finding},
	{id: "PWR-001", name: "intel_pstate with HWP is another check's",
		facts: governed(2, "intel_pstate", "powersave", "balance_performance"),
		want:  NotApplicable, detail: "PWR-003"},
	{id: "PWR-001", name: "intel_cpufreq is passive",
		facts: governed(2, "intel_cpufreq", "schedutil", "balance_performance"), want: Finding},
	{id: "PWR-001", name: "one policy differs", want: Finding, evidence: cpufreqDir + "3/scaling_governor = ondemand",
		detail: "1 of 4", facts: func(f *host.Facts) {
			governed(4, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[3].Governor.Value = "ondemand"
		}},
	{id: "PWR-001", name: "the others are shown as well", want: Finding,
		evidence: cpufreqDir + "{0-2}/scaling_governor = performance",
		facts: func(f *host.Facts) {
			governed(4, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[3].Governor.Value = "ondemand"
		}},
	{id: "PWR-001", name: "governor module not loaded", want: Finding, remedy: "modprobe cpufreq_performance",
		facts: func(f *host.Facts) {
			governed(1, "acpi-cpufreq", "ondemand", "")(f)
			f.Frequency.Policies[0].Governors = known("ondemand userspace", cpufreqDir+"0/scaling_available_governors")
		}},
	{id: "PWR-001", name: "denied", want: Unknown, evidence: "scaling_governor = denied", detail: "run as root",
		facts: func(f *host.Facts) {
			governed(1, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[0].Governor = denied[string](cpufreqDir + "0/scaling_governor")
		}},
	{id: "PWR-001", name: "unreadable driver under powersave", want: Unknown, facts: func(f *host.Facts) {
		governed(1, "acpi-cpufreq", "powersave", "")(f)
		f.Frequency.Policies[0].Driver = failed[string](cpufreqDir + "0/scaling_driver")
	}},
	{id: "PWR-001", name: "no cpufreq in a guest", facts: func(*host.Facts) {}, want: NotApplicable, detail: "guest"},

	{id: "PWR-003", name: "balance", facts: governed(8, "intel_pstate", "powersave", "balance_performance"), want: Finding,
		evidence: "policy{0-7}/energy_performance_preference",
		remedy:   "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"},
	{id: "PWR-003", name: "kept an older value, locked by the governor",
		facts: governed(2, "intel_pstate", "performance", "balance_power"),
		want:  Finding, remedy: "echo powersave | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor\n"},
	{id: "PWR-003", name: "kept an older value that can be written", want: Finding, detail: "kept an older value",
		remedy: "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
		facts: func(f *host.Facts) {
			governed(2, "intel_pstate", "performance", "balance_power")(f)
			f.Identity.Kernel = known("5.10.0", "uname")
		}},
	{id: "PWR-003", name: "performance", facts: governed(2, "intel_pstate", "powersave", "performance"), want: OK},
	{id: "PWR-003", name: "raw 0", facts: governed(2, "amd-pstate-epp", "powersave", "0"), want: OK},
	{id: "PWR-003", name: "none", facts: governed(2, "acpi-cpufreq", "powersave", ""), want: NotApplicable},
	{id: "PWR-003", name: "error", want: Unknown, evidence: "error: broken", facts: func(f *host.Facts) {
		governed(1, "intel_pstate", "powersave", "x")(f)
		f.Frequency.Policies[0].EPP = failed[string](cpufreqDir + "0/energy_performance_preference")
	}},

	{id: "PWR-004", name: "normal on all", facts: biased(6, 6, 6, 6), want: Finding,
		evidence: "/sys/devices/system/cpu/cpu{0-3}/power/energy_perf_bias = 6", remedy: "echo 0"},
	{id: "PWR-004", name: "performance", facts: biased(0, 0), want: OK},
	{id: "PWR-004", name: "none", facts: biased(), want: NotApplicable},
	{id: "PWR-004", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		biased(0, 0)(f)
		f.Frequency.EPB[1].Value = denied[int64]("/sys/devices/system/cpu/cpu1/power/energy_perf_bias")
	}},
}

// idling makes four CPUs with POLL, C1 (2 us) and one deep state; its latency
// in us, the CPUs on which it is disabled, and the limit in force in us (below
// 0: nobody looked).
func idling(deep float64, limit float64, disabled ...int) func(*host.Facts) {
	return func(f *host.Facts) {
		for i, s := range []struct {
			name string
			us   float64
		}{{"POLL", 0}, {"C1", 2}, {"C6", deep}} {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu0/cpuidle/state%d", i)
			st := host.IdleState{Index: i, Name: known(s.name, dir+"/name"), Latency: secs(s.us, dir+"/latency"), CPUs: upTo(4)}
			if s.name == "C6" {
				st.Disabled = disabled
			}
			f.Idle.States = append(f.Idle.States, st)
		}
		if limit >= 0 {
			f.Idle.DMALatency = secs(limit, "/dev/cpu_dma_latency")
		}
	}
}

const noLimit = 2e9 // us: what the kernel reports where nobody asks for less

func hiddenLimit(facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		facts(f)
		f.Idle.DMALatency = denied[float64]("/dev/cpu_dma_latency")
	}
}

func contained(facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		facts(f)
		f.Virt.Container = known("docker", "/proc/1/cgroup")
	}
}

func siblings(control string, active bool) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.SMTControl = known(control, "/sys/devices/system/cpu/smt/control")
		f.Topology.SMTActive = known(active, "/sys/devices/system/cpu/smt/active")
	}
}

var idleCases = []lookCase{
	{id: "IDL-001", name: "deep state open", facts: idling(133, noLimit), want: Finding,
		evidence: "C6: 133 us, enabled on CPUs 0-3", remedy: "-gt 70"},
	{id: "IDL-001", name: "open on one CPU", facts: idling(133, noLimit, 0, 1, 3), want: Finding,
		evidence: "enabled on CPUs 2"},
	{id: "IDL-001", name: "state 2 of a processor that wakes fast", facts: idling(70, noLimit), want: OK},
	{id: "IDL-001", name: "disabled", facts: idling(133, noLimit, 0, 1, 2, 3), want: OK},
	{id: "IDL-001", name: "held back by a limit", facts: idling(133, 70), want: OK, evidence: "held back"},
	{id: "IDL-001", name: "held back on each CPU", want: OK, facts: func(f *host.Facts) {
		idling(133, noLimit, 0, 1)(f)
		for _, c := range []int{2, 3} {
			f.Idle.Resume = append(f.Idle.Resume, host.CPUValue[float64]{CPU: c, Value: secs(50, "pm_qos_resume_latency_us")})
		}
	}},
	{id: "IDL-001", name: "no limit of its own", want: Finding, facts: func(f *host.Facts) {
		idling(133, noLimit, 1, 2, 3)(f)
		f.Idle.Resume = []host.CPUValue[float64]{{CPU: 0, Value: absent[float64]("pm_qos_resume_latency_us")}}
	}},
	{id: "IDL-001", name: "no latency tolerated at all", want: OK, facts: func(f *host.Facts) {
		idling(133, noLimit, 1, 2, 3)(f)
		f.Idle.Resume = []host.CPUValue[float64]{{CPU: 0, Value: secs(0, "pm_qos_resume_latency_us")}}
	}},
	{id: "IDL-001", name: "no limit set", facts: idling(133, -1), want: Finding},
	{id: "IDL-001", name: "container does not see the limit", want: Unknown,
		evidence: "cpu_dma_latency = error: not visible inside a container",
		facts:    contained(idling(133, -1))},
	{id: "IDL-001", name: "the limit may not be read", facts: hiddenLimit(idling(133, -1)), want: Unknown,
		evidence: "cpu_dma_latency = denied"},
	{id: "IDL-001", name: "nothing to hold back", facts: hiddenLimit(idling(50, -1)), want: OK},
	{id: "IDL-001", name: "disable files denied", want: Unknown, facts: func(f *host.Facts) {
		idling(133, noLimit)(f)
		f.Idle.States[2].Unread = upTo(4)
		f.Idle.States[2].Disable = denied[bool]("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")
	}},
	{id: "IDL-001", name: "disabled on some, unread on the rest", want: Unknown,
		evidence: "error: not readable on CPUs 2-3", facts: func(f *host.Facts) {
			idling(133, noLimit, 0, 1)(f)
			f.Idle.States[2].Unread = []int{2, 3}
			f.Idle.States[2].Disable = known(true, "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")
		}},
	{id: "IDL-001", name: "unread on some, open on another", want: Finding, evidence: "enabled on CPUs 0-2",
		facts: func(f *host.Facts) {
			idling(133, noLimit)(f)
			f.Idle.States[2].Unread = []int{3}
		}},
	{id: "IDL-001", name: "guest", facts: func(*host.Facts) {}, want: NotApplicable},

	{id: "SMT-001", name: "on", facts: siblings("on", true), want: Finding, remedy: "hostlab assess"},
	{id: "SMT-001", name: "on a development system", role: Development, facts: siblings("on", true), want: Finding},
	{id: "SMT-001", name: "off", facts: siblings("off", false), want: OK},
	{id: "SMT-001", name: "not supported", facts: siblings("notsupported", false), want: NotApplicable},
	{id: "SMT-001", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		f.Topology.SMTActive = denied[bool]("/sys/devices/system/cpu/smt/active")
	}},
}
