package setting

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"hostlab/internal/screen"
)

const (
	noTurbo     = cpuDir + "/intel_pstate/no_turbo"
	boostAll    = freqDir + "/boost"
	noPstate    = "intel_pstate is not in charge of this processor"
	noEPB       = "the processor offers no EPB"
	profileFile = "/sys/firmware/acpi/platform_profile"
)

var boost = Setting{
	Name: "boost", Title: "Turbo (boost)", Order: rankBoost,
	About: "Boost lets cores run above their base frequency while power and temperature allow. off makes benchmarks repeatable and single threads slow. " +
		"There are three kinds of files: intel_pstate/no_turbo, which says the opposite (1 is off), cpufreq/boost for all policies, and policyN/boost. " +
		"Writing the one for all policies changes those of the policies, so that they need not be named as well.",
	Source:  "kernel documentation, admin-guide/pm/cpufreq.rst, intel_pstate.rst and amd-pstate.rst; tuned; PerfSpect; pyperf (off)",
	Values:  "on or off",
	objects: boostFiles,
	levels:  fixed("1", "0"),
	parse: func(_ *System, o Object, v string) (string, error) {
		w, err := onOff(v)
		if err == nil && o.Path == noTurbo {
			w = map[string]string{"1": "0", "0": "1"}[w]
		}
		return w, err
	},
	show: func(o Object, v string) string {
		if v != "0" && v != "1" {
			return v
		}
		return map[bool]string{true: "on", false: "off"}[(v == "1") != (o.Path == noTurbo)]
	},
	disturbs: func(sys *System, o Object, _ string) (list []Side, err error) {
		for _, p := range policies(sys) {
			if o.Name != "cpufreq" && o.Name != p.Name && o.Path != noTurbo {
				continue
			}
			if file := p.Path + "/boost"; o.Name == "cpufreq" && sys.exists(file) {
				list = append(list, Side{Setting: "boost", Object: Object{Name: p.Name, Path: file}, Becomes: []string{"0", "1"}})
			}
			for _, limit := range []string{"max", "min"} { // boost moves the range that limits are kept within
				if file := p.Path + "/scaling_" + limit + "_freq"; sys.exists(file) {
					list = append(list, Side{Setting: limit + "_freq", Object: Object{Name: p.Name, Path: file}})
				}
			}
		}
		return list, nil
	},
	refused: func(_ *System, _ Object, _ string, err error) string {
		switch {
		case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
			return "if the firmware has switched turbo off, the kernel cannot switch it on"
		case errors.Is(err, syscall.EINVAL):
			return "this processor refuses to switch boost here"
		}
		return ""
	},
}

// boostFiles are those that decide: the policies' own only where there is none for all.
func boostFiles(sys *System) (list []Object, err error) {
	if sys.exists(noTurbo) {
		list = append(list, Object{Name: "intel_pstate", Path: noTurbo})
	}
	switch {
	case sys.exists(boostAll):
		list = append(list, Object{Name: "cpufreq", Path: boostAll})
		// A policy that differs from the rest stays an object of its own: with the file
		// for all at the level wanted already, only writing it helps.
		common, _ := sys.text(boostAll)
		for _, p := range policies(sys) {
			if v, err := sys.text(p.Path + "/boost"); err == nil && v != common {
				list = append(list, Object{Name: p.Name, Path: p.Path + "/boost"})
			}
		}
	default:
		for _, p := range policies(sys) {
			if p.Path += "/boost"; sys.exists(p.Path) {
				list = append(list, p)
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("none of intel_pstate/no_turbo, cpufreq/boost and policyN/boost is there")
	}
	return list, nil
}

// epbNames are the kernel's words for some of EPB's numbers (arch/x86/kernel/cpu/intel_epb.c);
// it reads back numbers.
var epbNames = map[string]string{"performance": "0", "balance-performance": "4", "normal": "6", "normal-powersave": "7", "balance-power": "8", "power": "15"}

var epb = Setting{
	Name: "epb", Title: "Energy performance bias", Order: rankEPB,
	About: "EPB is the older hint to Intel processors, from 0 (performance) to 15 (power saving), for each CPU. It weighs on turbo and on the uncore's " +
		"frequency, and decides alone where there is no EPP.",
	Source:  "kernel documentation, admin-guide/pm/intel_epb.rst; SAP notes 2205917, 2684254, 3577842; tuned; PerfSpect",
	Values:  "0 to 15, or performance, balance-performance, normal, balance-power, power",
	objects: perCPU("power/energy_perf_bias", noEPB),
	parse: func(sys *System, o Object, v string) (string, error) {
		if n, ok := epbNames[v]; ok {
			return n, nil
		}
		if n, err := whole(0, 15)(sys, o, v); err == nil {
			return n, nil
		}
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), "0 to 15, or performance, balance-performance, normal, balance-power, power")
	},
}

// perCPU makes objects of a file that each CPU has.
func perCPU(file, missing string) func(*System) ([]Object, error) {
	return func(sys *System) (list []Object, err error) {
		for _, cpu := range sys.numbered(cpuDir, "cpu") {
			if path := cpuDir + "/" + cpu + "/" + file; sys.exists(path) {
				list = append(list, Object{Name: cpu, Path: path})
			}
		}
		if len(list) == 0 {
			return nil, errors.New(missing)
		}
		return list, nil
	}
}

var minPerfPct = Setting{
	Name: "min_perf_pct", Title: "intel_pstate's floor", Order: rankMinPerf, Rounds: true,
	About: "The lowest share of full performance that intel_pstate asks for. At 100 the frequency does not fall with load. The kernel keeps it between " +
		"what the processor can do and max_perf_pct.",
	Source:  "kernel documentation, admin-guide/pm/intel_pstate.rst; tuned throughput-performance, latency-performance, sap-hana (100)",
	Values:  "1 to 100, in % of full performance",
	objects: single(cpuDir+"/intel_pstate/min_perf_pct", noPstate), parse: whole(1, 100, "%"), show: withUnit("%"),
}

var maxPerfPct = Setting{
	Name: "max_perf_pct", Title: "intel_pstate's ceiling", Order: rankMaxPerf, Rounds: true,
	About: "The highest share of full performance that intel_pstate asks for. Below 100 it costs every CPU-bound second. A ceiling below the floor " +
		"lowers the floor as well.",
	Source:  "kernel documentation, admin-guide/pm/intel_pstate.rst; tuned throughput-performance (100)",
	Values:  minPerfPct.Values,
	objects: single(cpuDir+"/intel_pstate/max_perf_pct", noPstate), parse: whole(1, 100, "%"), show: withUnit("%"),
	disturbs: func(*System, Object, string) ([]Side, error) {
		return []Side{{Setting: "min_perf_pct", Object: Object{Path: cpuDir + "/intel_pstate/min_perf_pct"}}}, nil
	},
}

// withUnit shows numbers with their unit.
func withUnit(unit string) func(Object, string) string {
	return func(_ Object, v string) string {
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return v
		}
		return v + " " + unit
	}
}

// profileWords are the kernel's (drivers/acpi/platform_profile.c). It has custom as well, which is only read.
var profileWords = []string{"low-power", "cool", "quiet", "balanced", "balanced-performance", "performance", "max-power"}

var profileLevels = wordsOf(func(Object) string { return profileFile + "_choices" })

var platformProfile = Setting{
	Name: "platform_profile", Title: "ACPI platform profile", Order: rankProfile, Lasting: true,
	About: "The platform profile tells the firmware how to weigh speed against heat and noise. It may move power limits, fans and EPP by itself, so it is " +
		"set before those.",
	Source:  "kernel documentation, ABI/testing/sysfs-platform_profile; tuned throughput-performance, latency-performance",
	Values:  "a profile that the firmware offers",
	objects: single(profileFile, "the firmware has no platform profiles"), levels: profileLevels, parse: oneOf(profileLevels), offline: known(profileWords...),
	disturbs: func(sys *System, _ Object, _ string) (list []Side, err error) {
		for _, p := range policies(sys) {
			if file := p.Path + "/energy_performance_preference"; sys.exists(file) {
				list = append(list, Side{Setting: "epp", Object: Object{Name: p.Name, Path: file}})
			}
		}
		return list, nil
	},
}
