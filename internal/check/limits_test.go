package check

import "hostlab/internal/host"

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
