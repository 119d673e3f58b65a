package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
)

const (
	noCPUFreq = "the kernel controls no CPU frequency here (no cpufreq policy); " +
		"in a guest the hypervisor's host does"
	forPolicies = "for p in /sys/devices/system/cpu/cpufreq/policy*; do "
)

// inProduction weighs a check for the two production roles only.
func inProduction(db, app Severity) map[Role]Severity {
	return map[Role]Severity{ProductionDB: db, ProductionApp: app}
}

// everywhere weighs a check for all roles.
func everywhere(db, app, dev Severity) map[Role]Severity {
	return map[Role]Severity{ProductionDB: db, ProductionApp: app, Development: dev}
}

// onlinePolicies are the frequency policies that decide anything: those with an online
// CPU. The kernel answers EBUSY to every question about the others (cpufreq.c,
// policy_is_inactive), which no privilege mends.
func onlinePolicies(f *host.Facts) []host.Policy {
	online, known := f.Topology.Online.Get()
	return slices.DeleteFunc(slices.Clone(f.Frequency.Policies), func(p host.Policy) bool {
		if l, ok := p.Affected.Get(); ok {
			return len(l) == 0
		}
		cpus := p.CPUs.Or([]int{p.ID}) // a policy has the number of its first CPU
		return known && p.Affected.State == host.StateError &&
			!slices.ContainsFunc(cpus, func(c int) bool { return slices.Contains(online, c) })
	})
}

// chooser says who picks the frequency under a policy.
type chooser int

const (
	byKernel   chooser = iota // a governor computes it
	byHardware                // HWP or CPPC does, steered by EPP
	byUnknown                 // the driver cannot be read
)

// whoChooses tells the drivers apart under which "powersave" names a hardware
// algorithm. intel_pstate offers EPP only where the processor has HWP; without,
// its own powersave is a kernel algorithm again (kernel documentation,
// admin-guide/pm/intel_pstate.rst).
func whoChooses(p host.Policy) chooser {
	switch p.Driver.State {
	case host.StateDenied, host.StateError:
		return byUnknown
	}
	noEPP := p.EPP.State == host.StateAbsent || p.EPP.State == ""
	switch d := p.Driver.Or(""); {
	case d == "amd-pstate-epp", d == "intel_pstate" && !noEPP:
		return byHardware
	}
	return byKernel
}

var governor = Check{
	ID: "PWR-001", Lever: LeverFrequency, Title: "CPU frequency governor",
	Why: "A governor other than performance lowers the clock when CPUs look idle and raises it only after it " +
		"has seen load for some milliseconds. A request that computes for a few milliseconds and then waits for " +
		"the database runs mostly at the low clock, so its CPU time and response time grow although the machine " +
		"is nearly idle.",
	Source: "tuned throughput-performance, latency-performance and sap-hana; SAP notes 2205917, 2684254, " +
		"3577842; Scylla perftune; PerfSpect; pyperf",
	Disagree: "All recommend performance. Under acpi-cpufreq, powersave pins the lowest frequency; under " +
		"intel_pstate and amd-pstate-epp the same word lets the hardware choose, which PWR-002 judges instead.",
	Severity: inProduction(High, High),
	Look:     lookGovernor,
}

func lookGovernor(f *host.Facts, _ Role) Outcome {
	var rs []reading
	hardware := 0
	for _, p := range onlinePolicies(f) {
		switch whoChooses(p) {
		case byHardware:
			hardware++
			continue
		case byUnknown:
			rs = append(rs, governorOrDriver(p))
			continue
		}
		rs = append(rs, read(p.Governor, isPerformance), aside(p.Driver))
	}
	absent := noCPUFreq
	if hardware > 0 {
		absent = "the hardware chooses the frequency under this driver; see PWR-002 and PWR-003"
	}
	return judge(rs, answers{
		absent: absent,
		ok:     "the governor asks for full frequency at all times",
		bad: func(bad []reading) (string, string) {
			detail := fmt.Sprintf("%d of %s may run below full frequency", len(bad), count(len(onlinePolicies(f)), "cpufreq policy", "cpufreq policies"))
			return detail, governorFix(f)
		},
	})
}

// governorOrDriver judges a policy whose driver cannot be read: performance is
// right under any, and what another governor means depends on the driver.
func governorOrDriver(p host.Policy) reading {
	if r := read(p.Governor, isPerformance); !r.bad {
		return r
	}
	return whole(p.Driver)
}

func governorFix(f *host.Facts) string {
	fix := forPolicies + "echo performance | sudo tee $p/scaling_governor; done\n" +
		"# a tuned profile (throughput-performance) keeps it over a reboot"
	for _, p := range onlinePolicies(f) {
		if g, ok := p.Governors.Get(); ok && !slices.Contains(strings.Fields(g), "performance") {
			return "sudo modprobe cpufreq_performance\n" + fix
		}
	}
	return fix
}

var hardwareGovernor = Check{
	ID: "PWR-002", Lever: LeverFrequency, Title: "Governor where the hardware chooses the frequency",
	Why: "Under intel_pstate with HWP and under amd-pstate-epp, powersave does not mean the lowest frequency: the " +
		"processor picks it within about a millisecond and the energy performance preference (EPP) tilts its choice. " +
		"That costs far less than a kernel governor, yet bursts still begin below full clock unless EPP says performance.",
	Source: "tuned throughput-performance, latency-performance and sap-hana; SAP notes 2205917, 2684254, 3577842; PerfSpect",
	Disagree: "The sources ask for the governor performance whatever the driver. Powersave together with EPP " +
		"performance is accepted here, because both give the hardware the same preference.",
	Severity: inProduction(Low, Low),
	Look:     lookHardwareGovernor,
}

func lookHardwareGovernor(f *host.Facts, _ Role) Outcome {
	var rs []reading
	for _, p := range onlinePolicies(f) {
		switch whoChooses(p) {
		case byKernel:
			continue
		case byUnknown:
			rs = append(rs, governorOrDriver(p))
			continue
		}
		g := read(p.Governor, isPerformance)
		if g.bad {
			epp := read(p.EPP, fullEPP)
			g.bad = epp.state == host.StateOK && epp.bad
			epp.context = !epp.unknown()
			rs = append(rs, epp)
		}
		rs = append(rs, g, aside(p.Driver))
	}
	return judge(rs, answers{
		absent: "no cpufreq policy leaves the choice to the hardware",
		ok:     "the hardware is asked for full frequency",
		bad: func(bad []reading) (string, string) {
			return "the hardware chooses the frequency and is not set to prefer performance (see PWR-003)", governorFix(f)
		},
	})
}

// fullEPP accepts the name, and 0, its number in raw form.
func fullEPP(v string) bool { return v == "performance" || v == "0" }

var epp = Check{
	ID: "PWR-003", Lever: LeverFrequency, Title: "Energy performance preference (EPP)",
	Why: "EPP tells a processor that chooses its own frequency how much response it may give up for energy. The usual " +
		"default, balance_performance, makes it climb in steps after idle; performance makes it go to the top at once.",
	Source: "tuned throughput-performance; kernel documentation on intel_pstate and amd-pstate",
	Disagree: "Notes written for older processors name EPB only. While the governor is performance, intel_pstate " +
		"refuses writes to EPP with EBUSY, and EPP may keep an older value after a change of governor: set the " +
		"governor first, then EPP, and read both back.",
	Severity: inProduction(Medium, Medium),
	Look:     lookEPP,
}

func lookEPP(f *host.Facts, _ Role) Outcome {
	var rs []reading
	pinned := false
	for _, p := range onlinePolicies(f) {
		r := read(p.EPP, fullEPP)
		pinned = pinned || r.bad && p.Governor.Or("") == "performance"
		rs = append(rs, r)
	}
	return judge(rs, answers{
		absent: "the frequency driver has no EPP",
		ok:     "EPP prefers performance",
		bad: func([]reading) (string, string) {
			fix := forPolicies + "echo performance | sudo tee $p/energy_performance_preference; done"
			if !pinned {
				return "the hardware may trade response time for energy", fix
			}
			// EPP is locked while the governor is performance (EBUSY), and
			// choosing that governor anew is what makes the kernel write it.
			return "the governor is performance, but EPP kept an older value",
				forPolicies + "echo powersave | sudo tee $p/scaling_governor; " +
					"echo performance | sudo tee $p/energy_performance_preference $p/scaling_governor; done"
		},
	})
}

var epb = Check{
	ID: "PWR-004", Lever: LeverFrequency, Title: "Energy performance bias (EPB)",
	Why: "EPB is the older hint to Intel processors, from 0 (performance) to 15 (power saving). It still weighs on " +
		"turbo and on the uncore's frequency, and it decides alone where there is no EPP.",
	Source: "tuned throughput-performance and latency-performance; SAP notes 2205917, 2684254, 3577842; PerfSpect",
	Disagree: "Where a processor has EPP, EPP outweighs it, so this is of low severity. Writing it fails on " +
		"processors that have none; that is not applicable, not a failure.",
	Severity: inProduction(Low, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		var rs []reading
		for _, c := range f.Frequency.EPB {
			rs = append(rs, read(c.Value, func(v int64) bool { return v == 0 }))
		}
		return judge(rs, answers{
			absent: "the processor offers no EPB",
			ok:     "EPB is 0 (performance)",
			bad: func(bad []reading) (string, string) {
				return fmt.Sprintf("%s biased towards saving energy", count(len(bad), "CPU is", "CPUs are")),
					"for b in /sys/devices/system/cpu/cpu*/power/energy_perf_bias; do echo 0 | sudo tee $b; done"
			},
		})
	},
}

func isPerformance(v string) bool { return v == "performance" }

func isTrue(v bool) bool  { return v }
func isFalse(v bool) bool { return !v }

// count writes a number with the noun it counts.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
