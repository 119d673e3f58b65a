package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

const (
	noCPUFreq = "the kernel controls no CPU frequency here (no cpufreq policy); " +
		"in a guest the hypervisor's host does"
	policyFiles = "/sys/devices/system/cpu/cpufreq/policy*/"
)

// power holds the checks of frequencies on Linux.
var power = []Check{
	{
		ID: "PWR-001", Subject: Frequency, Title: "CPU governor that may lower the frequency",
		Severity: inProduction(High, High),
		absent:   noCPUFreq, ok: "the governor asks for full frequency at all times",
		look: lookGovernor,
	},
	{
		ID: "PWR-003", Subject: Frequency, Title: "Processors asked to save energy (EPP)",
		Severity: inProduction(Medium, Medium),
		absent:   "the frequency driver has no EPP", ok: "EPP prefers performance",
		bad:  "the hardware may trade response time for energy",
		look: lookEPP, advise: adviseEPP,
		left: "before Linux 5.10 EPP is locked while the governor is performance: choose that anew",
	},
	{
		ID: "PWR-004", Subject: Frequency, Title: "Processors biased towards saving energy (EPB)",
		Severity: inProduction(Low, Low),
		absent:   "the processor offers no EPB", ok: "EPB is 0 (performance)",
		look: func(f *host.Facts, _ Role) (v view) {
			for _, p := range onlinePolicies(f) {
				if r := whole(p.EPP); r.state == host.StateOK { // one preference, one finding
					r.context = true
					v.readings, v.absent = append(v.readings, r), "the processor has EPP, which outweighs it; see PWR-003"
				}
			}
			if len(v.readings) > 0 {
				return v
			}
			for _, c := range f.Frequency.EPB {
				v.readings = append(v.readings, read(c.Value, is[int64](0)))
			}
			v.bad = fmt.Sprintf("%s biased towards saving energy", screen.Plural(len(wrong(v.readings)), "CPU is", "CPUs are"))
			return v
		},
	},
	{
		ID: "PWR-005", Subject: Frequency, Title: "Turbo (boost) switched off",
		Severity: inProduction(High, High),
		absent:   "no boost control is visible", ok: "boost is allowed",
		bad:  "boost is switched off; the highest frequencies are out of reach",
		look: lookBoost,
	},
	{
		ID: "PWR-007", Subject: Frequency, Title: "Frequency capped by a setting",
		Severity: inProduction(High, High),
		absent:   noCPUFreq, ok: "CPUs may reach their highest frequency",
		look: func(f *host.Facts, _ Role) view {
			v := see(read(f.Frequency.MaxPerfPct, atLeast[int64](100)))
			capped := v.readings[0].bad
			limits := ofCeiling(f, func(p host.Policy) host.Fact[int64] { return p.Max })
			if v.readings = append(v.readings, limits...); capped {
				const file = "/sys/devices/system/cpu/intel_pstate/max_perf_pct"
				v.fix = append(append(v.fix, write("100", file).noting(effect("max_perf_pct"))),
					kept(f, "max_perf_pct", file, "100")...)
			}
			if len(wrong(limits)) > 0 {
				v.fix = append(v.fix, script("for p in /sys/devices/system/cpu/cpufreq/policy*; do "+
					"cat $p/cpuinfo_max_freq | sudo tee $p/scaling_max_freq; done").noting(effect("max_freq")))
			}
			for _, r := range wrong(v.readings) {
				v.bad = cmp.Or(v.bad, "the clock is capped below what the processor can do: "+r.value)
			}
			return v
		},
		advise: func(f *host.Facts, _ Role) (list []setting.Assignment) {
			// A boot leaves max_freq at the processor's own.
			if pct, ok := f.Frequency.MaxPerfPct.Get(); ok && pct < 100 || len(f.Frequency.Policies) == 0 {
				list = append(list, setting.Assignment{Name: "max_perf_pct", Value: "100"})
			}
			if len(wrong(ofCeiling(f, func(p host.Policy) host.Fact[int64] { return p.Max }))) > 0 {
				list = append(list, setting.Assignment{Name: "max_freq", Value: "max"})
			}
			return list
		},
	},
	{
		ID: "PWR-008", Subject: Frequency, Title: "Frequency capped by the firmware",
		Severity: inProduction(High, High),
		absent:   "the frequency driver reports no limit of the firmware", ok: "the firmware sets no limit",
		fix: remedy{run("sudo", "ipmitool", "dcmi", "power", "get_limit"),
			remark("lift the power cap there or in the firmware setup; then look for heat or a failed supply:"),
			run("sudo", "ipmitool", "sel", "elist")},
		left: "the firmware sets it",
		look: func(f *host.Facts, _ Role) view {
			v := see(ofCeiling(f, func(p host.Policy) host.Fact[int64] { return p.BIOSLimit })...)
			for _, r := range wrong(v.readings) {
				v.bad = cmp.Or(v.bad, "the firmware holds the clock down: "+r.value)
			}
			return v
		},
	},
	{
		ID: "PWR-009", Subject: Frequency, Title: "Firmware not asked for performance",
		Severity: inProduction(Medium, Medium),
		absent:   "the firmware has no platform profiles", ok: "the firmware is asked for performance",
		look: func(f *host.Facts, _ Role) view {
			fr := f.Frequency
			if c, ok := fr.ProfileChoices.Get(); ok && !slices.Contains(strings.Fields(c), "performance") {
				return view{readings: []reading{aside(fr.ProfileChoices)},
					absent: "the firmware offers no profile named performance"}
			}
			v := see(oneOf(fr.PlatformProfile, []string{"performance", "max-power"},
				[]string{"low-power", "cool", "quiet", "balanced",
					"balanced-performance"}, "the firmware's maker says what it does"), aside(fr.ProfileChoices))
			v.bad = "the firmware is asked for " + v.readings[0].value
			return v
		},
	},
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

// ofCeiling reads a limit of each policy against the highest frequency that scaling_max_freq
// can be set to.
func ofCeiling(f *host.Facts, limit func(host.Policy) host.Fact[int64]) (rs []reading) {
	for _, p := range onlinePolicies(f) {
		top := p.Ceiling()
		most, known := top.Get()
		if limit(p).State == host.StateOK && !known {
			rs = append(rs, whole(top))
			continue
		}
		rs = append(rs, readAs(limit(p), func(v int64) string { return hertz(v) + " of " + hertz(most) }, atLeast(most)))
	}
	return rs
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
	noEPP := p.EPP.State == host.StateAbsent || p.EPP.State == ""
	switch d := p.Driver.Or(""); {
	case whole(p.Driver).unknown():
		return byUnknown
	case d == "amd-pstate-epp", d == "intel_pstate" && !noEPP:
		return byHardware
	}
	return byKernel
}

func lookGovernor(f *host.Facts, _ Role) (v view) {
	for _, p := range onlinePolicies(f) {
		switch whoChooses(p) {
		case byHardware:
			v.absent = "the hardware chooses the frequency under this driver; see PWR-003"
		case byUnknown:
			v.readings = append(v.readings, governorOrDriver(p))
		default:
			v.readings = append(v.readings, governor(p), aside(p.Driver))
		}
	}
	all := screen.Plural(len(onlinePolicies(f)), "cpufreq policy", "cpufreq policies")
	v.bad, v.fix = fmt.Sprintf("%d of %s may run below full frequency", len(wrong(v.readings)), all), loadGovernor(f)
	return v
}

// governors of the kernel that may choose less than the full frequency (admin-guide/pm/cpufreq.rst, Linux 6.12).
var governors = []string{"powersave", "userspace", "schedutil", "ondemand", "conservative", "interactive"}

func governor(p host.Policy) reading {
	return oneOf(p.Governor, []string{"performance"}, governors, "its documentation says which frequency it chooses")
}

// governorOrDriver judges a policy whose driver cannot be read: performance is
// right under any, and what another governor means depends on the driver.
func governorOrDriver(p host.Policy) reading {
	if r := governor(p); !r.bad {
		return r
	}
	return whole(p.Driver)
}

// loadGovernor is the remedy where the governor performance is a module; nil elsewhere.
func loadGovernor(f *host.Facts) remedy {
	for _, p := range onlinePolicies(f) {
		if g, ok := p.Governors.Get(); ok && !slices.Contains(strings.Fields(g), "performance") {
			return append(remedy{run("sudo", "modprobe", "cpufreq_performance"),
				write("performance", policyFiles+"scaling_governor").noting(effect("governor")),
				into("cpufreq_performance", "/etc/modules-load.d/hostlab-governor.conf")},
				kept(f, "governor", policyFiles+"scaling_governor", "performance")...)
		}
	}
	return nil
}

// fullEPP accepts the name, and 0, its number in raw form.
func fullEPP(v string) bool { return v == "performance" || v == "0" }

// savingEPP are the other names, and numbers up to 255.
func savingEPP(v string) bool {
	n, err := strconv.Atoi(v)
	return slices.Contains([]string{"default", "balance_performance", "balance_power", "power"}, v) || err == nil &&
		n > 0 && n <= 255
}

func lookEPP(f *host.Facts, _ Role) (v view) {
	for _, p := range onlinePolicies(f) {
		r := read(p.EPP, fullEPP).unless(fullEPP(p.EPP.Value) || savingEPP(p.EPP.Value),
			"energy_performance_available_preferences names all")
		if r.bad && p.Governor.Or("") == "performance" {
			v.bad = "the governor is performance, but EPP kept an older value"
		}
		if r.bad && locked(f, p) {
			// Choosing that governor anew makes the kernel write EPP.
			v.fix = remedy{write("powersave", policyFiles+"scaling_governor"),
				write("performance", policyFiles+"energy_performance_preference").noting(effect("epp")),
				write("performance", policyFiles+"scaling_governor").noting(effect("governor"))}
		}
		v.readings = append(v.readings, r)
	}
	if len(v.readings) > 0 { // the floor that the governor performance raises to 100 %
		v.readings = append(v.readings, aside(f.Frequency.MinPerfPct))
	}
	return v
}

// locked reports that EPP cannot be written. Until Linux 5.10 the kernel answered EBUSY to every value while the
// governor is performance; since then performance is taken (commit b388eb58ce47, intel_pstate.c).
func locked(f *host.Facts, p host.Policy) bool {
	return p.Governor.Or("") == "performance" && p.Driver.Or("") != "amd-pstate-epp" && !kernelAt(f, 5, 10)
}

// kernelAt reports that the kernel is at least of a version; not that it is older, where its version is unknown.
func kernelAt(f *host.Facts, major, minor int) bool {
	var m, n int
	if got, _ := fmt.Sscanf(f.Identity.Kernel.Or(""), "%d.%d", &m, &n); got != 2 {
		return false
	}
	return m > major || m == major && n >= minor
}

// adviseEPP advises nothing where EPP is locked: choosing the governor anew is what makes
// the kernel write it, which is more than one value (PWR-003).
func adviseEPP(f *host.Facts, _ Role) []setting.Assignment {
	for _, p := range onlinePolicies(f) {
		if locked(f, p) && savingEPP(p.EPP.Or("")) {
			return nil
		}
	}
	return []setting.Assignment{{Name: "epp", Value: "performance"}}
}

func lookBoost(f *host.Facts, _ Role) view {
	fr := f.Frequency
	v := see(read(fr.NoTurbo, is(false)), read(fr.CPUFreqBoost, is(true)))
	for _, p := range onlinePolicies(f) {
		v.readings = append(v.readings, read(p.Boost, is(true)))
	}
	if len(present(v.readings)) == 0 {
		v = see(read(fr.Boost, is(true)))
	}
	switch on := fr.CPUFreqBoost.Or(false); {
	case fr.NoTurbo.Or(false):
		v.fix = boostFix(f, "0",
			"/sys/devices/system/cpu/intel_pstate/no_turbo").with("if that is refused, the firmware setup has " +
			"switched turbo off")
	case on:
		v.fix = boostFix(f, "1", policyFiles+"boost")
	default:
		v.fix = boostFix(f, "1", "/sys/devices/system/cpu/cpufreq/boost")
	}
	return v
}

func boostFix(f *host.Facts, value, files string) remedy {
	return append(remedy{write(value, files).noting(effect("boost"))},
		kept(f, "boost", files, value)...)
}

const noUncore = "the kernel controls no uncore frequency here"

// uncore holds the checks of what runs beside the cores: the clock of caches, memory controllers and links, and of the
// driver.
var uncore = []Check{
	{
		ID: "PWR-012", Subject: Frequency, Title: "Uncore's frequency capped by a setting",
		Severity: inProduction(Medium, Medium),
		absent:   noUncore, ok: "as high as when the machine started",
		bad: "the uncore's frequency is limited below what the " +
			"machine started with",
		look: func(f *host.Facts, _ Role) (v view) {
			for _, u := range f.Frequency.Uncore {
				top, known := u.InitialMax.Get()
				if u.Max.State == host.StateOK && !known {
					v.readings = append(v.readings, whole(u.InitialMax))
					continue
				}
				v.readings = append(v.readings, readAs(u.Max, func(hz int64) string { return hertz(hz) + " of " + hertz(top) },
					atLeast(top)))
			}
			return v
		},
		advise: func(f *host.Facts, _ Role) (list []setting.Assignment) {
			for _, u := range f.Frequency.Uncore {
				if top, ok := u.InitialMax.Get(); ok && u.Max.Or(top) < top {
					list = append(list, setting.Assignment{Name: "uncore_max_freq", Object: u.Name,
						Value: strconv.FormatInt(top/1000, 10)})
				}
			}
			return list
		},
	},
	{
		ID: "PWR-013", Subject: Frequency, Title: "Uncore slowed at low load (ELC)",
		Severity: inProduction(Low, Low),
		absent:   "the processor has no efficiency latency control, or the kernel does not show it (Linux 6.13)",
		ok:       "the uncore is ready at any load", bad: "the uncore saves power at low load, and climbs in steps",
		left: "four files make one mode",
		look: lookELC,
	},
	{
		ID: "PWR-014", Subject: Frequency, Title: "Intel processors without their own driver",
		Severity: inProduction(Info, Info),
		absent:   "no Intel processor's frequency is set here, or a hypervisor is below",
		ok: "the processor's own driver sets " +
			"the frequency",
		bad: "a driver of the firmware's steps sets the frequency of an Intel processor",
		fix: remedy{script(`grep -o 'intel_pstate=[a-z_]*' /proc/cmdline`).noting("take it away, or let the firmware leave " +
			"power management to the system")},
		left: "the kernel command line or the firmware decides it",
		look: func(f *host.Facts, _ Role) (v view) {
			if hv, ok := f.Virt.Hypervisor.Get(); ok && hv != "none" ||
				f.Identity.CPUVendor.Or("GenuineIntel") != "GenuineIntel" {
				return v
			}
			for _, p := range onlinePolicies(f) {
				v.readings = append(v.readings, oneOf(p.Driver, []string{"intel_pstate", "intel_cpufreq"},
					[]string{"acpi-cpufreq", "pcc-cpufreq"},
					"its documentation says who chooses the frequency"))
			}
			if len(v.readings) > 0 {
				v.readings = append(v.readings, needed(f.Identity.CPUVendor))
			}
			return v
		},
	},
}

// lookELC wants no floor at low load and no steps at high load: both thresholds 0, and the upper one enabled.
func lookELC(f *host.Facts, _ Role) (v view) {
	zero, one := false, false
	for _, u := range f.Frequency.Uncore {
		low, high, active := read(u.ELCLow, is[int64](0)), read(u.ELCHigh, is[int64](0)), read(u.ELCHighActive, is(true))
		v.readings = append(v.readings, low, high, active, aside(u.ELCFloor))
		zero, one = zero || low.bad || high.bad, one || active.bad
	}
	v.fix = remedy{run("cd", "/sys/devices/system/cpu/intel_uncore_frequency")}
	if zero {
		v.fix = append(v.fix, write("0", "*/elc_low_threshold_percent */elc_high_threshold_percent"))
	}
	if one {
		v.fix = append(v.fix, write("1", "*/elc_high_threshold_enable"))
	}
	v.fix = append(v.fix, tillBoot)
	return v
}
