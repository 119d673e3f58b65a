package setting

import "syscall"

const noTurbo = cpuDir + "/intel_pstate/no_turbo"

// power holds the settings of a processor's power policy apart from governors and limits in Hz.
var power = []Setting{
	{
		Name: "platform_profile", Title: "ACPI platform profile", Order: rankProfile, Lasting: true,
		Effect: "fans and power limits may rise",
		About: "The platform profile tells the firmware how to weigh speed against heat and noise. It may move power " +
			"limits, fans and EPP by itself, so it is " +
			"set before those.",
		Source: "kernel documentation, ABI/testing/sysfs-platform_profile; tuned throughput-performance, latency-performance",
		Values: "a profile that the firmware offers",
		File:   "/sys/firmware/acpi/platform_profile", Absent: "the firmware has no platform profiles",
		// The kernel's words (drivers/acpi/platform_profile.c). It has custom as well, which is only read.
		Takes: words{from: "platform_profile_choices", known: []string{"low-power", "cool", "quiet", "balanced",
			"balanced-performance", "performance", "max-power"}},
		Moves:  []Move{{Setting: "epp"}},
		Advice: map[string]string{"PWR-009": "performance"},
	},
	{
		Name: "epb", Title: "Energy performance bias", Order: rankEPB,
		Effect: "the processor draws more power",
		About: "EPB is the older hint to Intel processors, from 0 (performance) to 15 (power saving), for each CPU. It " +
			"weighs on turbo and on the uncore's " +
			"frequency, and decides alone where there is no EPP.",
		Source: "kernel documentation, admin-guide/pm/intel_epb.rst; SAP notes 2205917, 2684254, 3577842; tuned; PerfSpect",
		File:   cpuFiles + "power/energy_perf_bias", Absent: "the processor offers no EPB",
		// The kernel's words (arch/x86/kernel/cpu/intel_epb.c); it reads back numbers.
		Takes: quantity{hi: 15, names: map[string]string{
			"performance": "0", "balance-performance": "4", "normal": "6", "normal-powersave": "7", "balance-power": "8",
			"power": "15"}},
		Advice: map[string]string{"PWR-004": "0"},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/energy_perf_bias", Values: epbWords},
			{Tool: "saptune", Option: "cpu/energy_perf_bias", Values: epbWords,
				Only: "saptune has performance (0), normal (6) and " +
					"powersave (15) only"},
		},
	},
	{
		Name: "boost", Title: "Turbo (boost)", Order: rankBoost,
		Effect: "CPUs may draw more power, and get warmer",
		About: "Boost lets cores run above their base frequency while power and temperature allow. off makes benchmarks " +
			"repeatable and single threads slow. " +
			"There are three kinds of files: intel_pstate/no_turbo, which says the opposite (1 is off), cpufreq/boost for all " +
			"policies, and policyN/boost. " +
			"Writing the one for all policies changes those of the policies, so that they need not be named as well.",
		Source: "kernel documentation, admin-guide/pm/cpufreq.rst, intel_pstate.rst and amd-pstate.rst; tuned; PerfSpect; " +
			"pyperf (off)",
		Files: []string{noTurbo, freqDir + "/boost", policyFiles + "boost"}, Absent: "none of intel_pstate/no_turbo, " +
			"cpufreq/boost and policyN/boost is there",
		Takes: onOff{inverted: noTurbo},
		// Boost moves the range that limits are kept within.
		Moves: []Move{{Setting: "boost", File: policyFiles + "boost", Becomes: []string{"0", "1"}},
			{Setting: "max_freq"}, {Setting: "min_freq"}},
		refusals: []refusal{
			{syscall.EPERM, "if the firmware has switched turbo off, the kernel cannot switch it on"},
			{syscall.EACCES, "if the firmware has switched turbo off, the kernel cannot switch it on"},
			{syscall.EINVAL, "this processor refuses to switch boost here"},
		},
		Advice: map[string]string{"PWR-005": "on"},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/no_turbo", Values: opposite},
			// 2 is aggressive, as in High performance
			{Tool: "windows", Option: "PERFBOOSTMODE", Values: map[string]string{"1": "2", "0": "0"}},
		},
		Named: "name a policy, such as boost@policy0, or leave the object out",
	},
	{
		Name: "max_perf_pct", Title: "intel_pstate's ceiling", Order: rankMaxPerf, Rounds: true,
		Effect: "CPUs draw more power while they are busy",
		About: "The highest share of full performance that intel_pstate asks for. Below 100 it costs every CPU-bound " +
			"second. A ceiling below the floor " +
			"lowers the floor as well.",
		Source: "kernel documentation, admin-guide/pm/intel_pstate.rst; tuned throughput-performance (100)",
		File:   cpuDir + "/intel_pstate/max_perf_pct", Absent: noPstate, Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Moves: []Move{{Setting: "min_perf_pct"}},
		Words: []Word{{Tool: "tuned", Option: "cpu/max_perf_pct"}, {Tool: "windows", Option: "PROCTHROTTLEMAX"}},
	},
	{
		Name: "min_perf_pct", Title: "intel_pstate's floor", Order: rankMinPerf, Rounds: true,
		About: "The lowest share of full performance that intel_pstate asks for. At 100 the frequency does not fall with " +
			"load. The kernel keeps it between " +
			"what the processor can do and max_perf_pct.",
		Source: "kernel documentation, admin-guide/pm/intel_pstate.rst; tuned throughput-performance, latency-performance, " +
			"sap-hana (100)",
		File: cpuDir + "/intel_pstate/min_perf_pct", Absent: noPstate, Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Words: []Word{{Tool: "tuned", Option: "cpu/min_perf_pct"}, {Tool: "windows", Option: "PROCTHROTTLEMIN"}},
	},
}

const noPstate = "intel_pstate is not in charge of this processor"

// epbWords are what tuned and saptune call EPB's numbers; tuned takes numbers, too.
var epbWords = map[string]string{"0": "performance", "6": "normal", "15": "powersave"}
