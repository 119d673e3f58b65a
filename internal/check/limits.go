package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
)

var boost = Check{
	ID: "PWR-005", Lever: LeverFrequency, Title: "Turbo (boost) allowed",
	Why: "Boost lets cores run above their base frequency while power and temperature allow. Without it a single " +
		"thread, such as a log writer or a serial query, is held at the base frequency even when all other cores sleep.",
	Source: "tuned throughput-performance and latency-performance; PerfSpect",
	Disagree: "pyperf turns boost off, since a fixed clock makes benchmarks repeatable. A production system wants " +
		"the speed; turn it off only for the length of a measurement.",
	Severity: inProduction(High, High),
	Look:     lookBoost,
}

func lookBoost(f *host.Facts, _ Role) Outcome {
	fr := f.Frequency
	rs := []reading{read(fr.NoTurbo, isFalse), read(fr.CPUFreqBoost, isTrue)}
	for _, p := range onlinePolicies(f) {
		rs = append(rs, read(p.Boost, isTrue))
	}
	if len(present(rs)) == 0 {
		rs = []reading{read(fr.Boost, isTrue)}
	}
	return judge(rs, answers{
		absent: "no boost control is visible",
		ok:     "boost is allowed",
		bad: func([]reading) (string, string) {
			detail := "boost is switched off; the highest frequencies are out of reach"
			if fr.NoTurbo.Or(false) {
				return detail, "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo\n" +
					"# if that is refused, the firmware setup has switched turbo off"
			}
			if on, ok := fr.CPUFreqBoost.Get(); ok && on {
				return detail, forPolicies + "echo 1 | sudo tee $p/boost; done"
			}
			return detail, "echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
		},
	})
}

var minPerf = Check{
	ID: "PWR-006", Lever: LeverFrequency, Title: "intel_pstate's floor (min_perf_pct)",
	Why: "min_perf_pct is the lowest share of full performance that intel_pstate asks for. At 100 the frequency never " +
		"falls with load, so no burst begins at a low clock.",
	Source: "tuned throughput-performance, latency-performance and sap-hana",
	Disagree: "With the governor performance the driver raises the floor to the ceiling by itself, so any value is " +
		"accepted then; pyperf raises scaling_min_freq instead, to the same end.",
	Severity: inProduction(Low, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		performance := len(onlinePolicies(f)) > 0
		rs := []reading{read(f.Frequency.MinPerfPct, func(v int64) bool { return v >= 100 })}
		for _, p := range onlinePolicies(f) {
			performance = performance && p.Governor.Or("") == "performance"
			rs = append(rs, aside(p.Governor))
		}
		ok := "the floor is at full performance"
		if performance && rs[0].bad {
			rs[0].bad, ok = false, "the governor performance overrides this floor"
		}
		return judge(rs, answers{
			absent: "intel_pstate is not in charge of this processor",
			ok:     ok,
			bad: func([]reading) (string, string) {
				return "the frequency may fall to the floor when load is low",
					"echo 100 | sudo tee /sys/devices/system/cpu/intel_pstate/min_perf_pct"
			},
		})
	},
}

var frequencyRange = Check{
	ID: "PWR-007", Lever: LeverFrequency, Title: "Upper limit of the frequency",
	Why: "scaling_max_freq and max_perf_pct cap the clock below what the processor can do, at full load as well. A cap " +
		"left behind by a power-saving tool or a measurement costs every CPU-bound second in proportion.",
	Source: "pyperf; tuned throughput-performance (max_perf_pct 100); kernel documentation on cpufreq",
	Disagree: "pyperf raises scaling_min_freq too; the other sources leave that to the governor. With acpi-cpufreq " +
		"the highest P-state is compared, because cpuinfo_max_freq may name a boost frequency above the table that " +
		"scaling_max_freq never reaches.",
	Severity: inProduction(High, High),
	Look:     lookRange,
}

// ceiling is the highest frequency that scaling_max_freq can be set to. Since
// Linux 5.11 acpi-cpufreq reports a boosted cpuinfo_max_freq on AMD processors
// while the policy's limit stays within its table of P-states.
func ceiling(p host.Policy) host.Fact[int64] {
	if ps, ok := p.PStates.Get(); ok && len(ps) > 0 {
		return host.Known(slices.Max(ps), "Hz", p.PStates.Source)
	}
	return p.HWMax
}

func lookRange(f *host.Facts, _ Role) Outcome {
	rs := []reading{read(f.Frequency.MaxPerfPct, func(v int64) bool { return v >= 100 })}
	capped := false
	for _, p := range onlinePolicies(f) {
		top := ceiling(p)
		max, known := top.Get()
		if p.Max.State == host.StateOK && !known {
			rs = append(rs, whole(top))
			continue
		}
		r := readAs(p.Max, func(v int64) string { return hertz(v) + " of " + hertz(max) },
			func(v int64) bool { return v >= max })
		capped = capped || r.bad
		rs = append(rs, r)
	}
	return judge(rs, answers{
		absent: noCPUFreq,
		ok:     "CPUs may reach their highest frequency",
		bad: func(bad []reading) (string, string) {
			var fix []string
			if pct, ok := f.Frequency.MaxPerfPct.Get(); ok && pct < 100 {
				fix = append(fix, "echo 100 | sudo tee /sys/devices/system/cpu/intel_pstate/max_perf_pct")
			}
			if capped {
				fix = append(fix, forPolicies+"cat $p/cpuinfo_max_freq | sudo tee $p/scaling_max_freq; done")
			}
			return "the clock is capped below what the processor can do: " + bad[0].value, strings.Join(fix, "\n")
		},
	})
}

var biosLimit = Check{
	ID: "PWR-008", Lever: LeverFrequency, Title: "Firmware's limit of the frequency",
	Why: "The firmware can withdraw the upper P-states (ACPI _PPC), for a power cap, a failed supply or heat. The " +
		"operating system obeys silently, so the machine is slow while every setting in it looks right.",
	Source: "kernel documentation on cpufreq (bios_limit)",
	Disagree: "One set of published measurements found that switching power management off in the firmware made " +
		"serial queries slower, because turbo went with it: lift the cap, do not turn everything off.",
	Severity: inProduction(High, High),
	Look: func(f *host.Facts, _ Role) Outcome {
		var rs []reading
		for _, p := range onlinePolicies(f) {
			max, known := ceiling(p).Get()
			if p.BIOSLimit.State == host.StateOK && !known {
				rs = append(rs, whole(ceiling(p)))
				continue
			}
			rs = append(rs, readAs(p.BIOSLimit, func(v int64) string { return hertz(v) + " of " + hertz(max) },
				func(v int64) bool { return v >= max }))
		}
		return judge(rs, answers{
			absent: "the frequency driver reports no limit of the firmware",
			ok:     "the firmware sets no limit",
			bad: func(bad []reading) (string, string) {
				return "the firmware holds the clock down: " + bad[0].value,
					"sudo ipmitool dcmi power get_limit\n" +
						"# lift the power cap there or in the firmware setup; then look for heat or a failed supply:\n" +
						"sudo ipmitool sel elist"
			},
		})
	},
}

var platformProfile = Check{
	ID: "PWR-009", Lever: LeverFrequency, Title: "ACPI platform profile",
	Why: "The platform profile tells the firmware how to weigh speed against heat and noise. In low-power or balanced " +
		"it may lower the power limits under the operating system's settings.",
	Source:   "tuned throughput-performance and latency-performance",
	Disagree: "",
	Severity: inProduction(Medium, Medium),
	Look: func(f *host.Facts, _ Role) Outcome {
		fr := f.Frequency
		if c, ok := fr.ProfileChoices.Get(); ok && !slices.Contains(strings.Fields(c), "performance") {
			return Outcome{Status: NotApplicable, Evidence: group([]reading{aside(fr.ProfileChoices)}),
				Detail: "the firmware offers no profile named performance"}
		}
		return judge([]reading{read(fr.PlatformProfile, isPerformance), aside(fr.ProfileChoices)}, answers{
			absent: "the firmware has no platform profiles",
			ok:     "the firmware is asked for performance",
			bad: func(bad []reading) (string, string) {
				return "the firmware is asked for " + bad[0].value,
					"echo performance | sudo tee /sys/firmware/acpi/platform_profile"
			},
		})
	},
}

// percentOf shows a part of a whole for a person.
func percentOf(part, whole int64) string {
	if whole <= 0 {
		return "unknown %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
