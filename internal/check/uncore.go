package check

import (
	"strconv"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

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
