package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// deepLatency is how long a CPU may take to wake, in s, before its idle state
// counts as deep. SAP's HANA notes and sapconf draw the line here.
const deepLatency = 70e-6

// noLatencyLimit is what the kernel reports, in s, while nobody asks for less
// (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const noLatencyLimit = 2000

const noIdle = "the kernel controls no idle states here (no cpuidle states)"

// holdLatency asks for 70 us (0x46) as long as it runs. Eight digits, since the
// kernel takes exactly four bytes for a binary number (kernel/power/qos.c).
var holdLatency = remedy{script(`sudo sh -c "exec 3>/dev/cpu_dma_latency; printf 0x00000046 >&3; sleep infinity"`),
	remark("holds 70 us while it runs; for good: a tuned profile (sap-hana for 70 us, latency-performance " +
		"for less), which changes other settings too")}

// idle holds the checks of idle states.
var idle = []Check{
	{
		ID: "IDL-001", Subject: Idle, Title: "Idle states that take over 70 us to leave",
		Why: "A CPU in a deep idle state needs its exit latency to wake and comes back with cold caches. A database that " +
			"waits briefly and often, for log writes, locks or clients, pays that at nearly every wait while load is low.",
		Source: "SAP HANA notes 2205917, 2684254, 3577842 (force_latency 70); sapconf; SAP note 1656250 on AWS",
		Disagree: "The bound differs: 1656250 keeps only C1, tuned latency-performance 3 us, mssql 5 us, postgresql 1 us. " +
			"The mildest, 70 us, decides here. Shallow states are kept on purpose: they leave power for the turbo of busy " +
			"cores. States are chosen by latency, since an index names different states on different processors.",
		Severity: inProduction(High, Medium),
		absent:   noIdle, ok: "no idle state above 70 us can be entered", fix: disableDeep,
		look: func(f *host.Facts, _ Role) view {
			v := see(idleReadings(f)...)
			v.bad = screen.Plural(len(wrong(v.readings)), "idle state", "idle states") + " above 70 us can be entered"
			return v
		},
	},
	{
		ID: "IDL-002", Subject: Idle, Title: "Limit of the wake-up latency (cpu_dma_latency)",
		Why: "A process that holds /dev/cpu_dma_latency open keeps all CPUs out of states that wake more slowly than it " +
			"asks. Unlike switches in sysfs the limit covers CPUs that come online later, and it ends with its holder, so " +
			"nothing is left behind.",
		Source: "tuned latency-performance, sap-hana, mssql and postgresql profiles; SAP note 3577842",
		Disagree: "latency-performance asks for the first state's latency or else 3 us, sap-hana for 70 us, mssql 5 us, " +
			"postgresql 1 us. Any limit up to 70 us is accepted, and so is none where all deeper states are disabled.",
		Severity: inProduction(Low, Info),
		absent:   noIdle, ok: "CPUs wake within 70 us", fix: holdLatency, look: lookLatencyLimit,
		left: "IDL-001 is the other cure, and stays without a program that holds it",
	},
	{
		ID: "IDL-003", Subject: Idle, Title: "Idle states limited on the kernel command line",
		Why: "intel_idle.max_cstate and processor.max_cstate keep deep idle states from existing at all, from boot on and " +
			"out of reach of any daemon. The price is a reboot to change it, and no shallow states in between to save with.",
		Source: "SAP notes 2205917, 2684254 and 1656250 (intel_idle.max_cstate=1 processor.max_cstate=1)",
		Disagree: "Note 3577842, for newer systems, no longer asks for it, since a latency limit of 70 us does the same at " +
			"run time (IDL-002). So it is information only, and satisfied where deep states are closed by other means.",
		Severity: inProduction(Info, Info),
		absent:   noIdle, look: lookIdleCmdline,
		bad: "the older notes' switch is not set and deep states are open; IDL-001 and IDL-002 need no reboot",
		fix: remedy{script(`sudo grubby --update-kernel=ALL --args="intel_idle.max_cstate=1 processor.max_cstate=1"`),
			remark("without grubby: add both to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub")},
		left: "the kernel command line takes a reboot",
	},
}

// disableDeep chooses by latency, never by index: C3 of one processor is C6 of
// another (tuned#808).
var disableDeep = remedy{script("for s in /sys/devices/system/cpu/cpu*/cpuidle/state*; do " +
	"if [ $(cat $s/latency) -gt 70 ]; then echo 1 | sudo tee $s/disable; fi; done")}

// idleReadings judges each idle state: bad means deep and open to some CPU.
func idleReadings(f *host.Facts) []reading {
	var rs []reading
	limit := heldLimit(f)
	for _, s := range f.Idle.States {
		lat, known := s.Latency.Get()
		r := readAs(s.Latency, func(v float64) string { return s.Name.Or("state") + ": " + seconds(v) },
			func(v float64) bool { return v <= deepLatency })
		if !known || !r.bad {
			rs = append(rs, r)
			continue
		}
		open, unread := openCPUs(f, s, lat)
		switch max, held := limit.Get(); {
		case held && lat > max:
			r.bad, r.value = false, r.value+", held back by the limit of "+seconds(max)
		case len(open) == 0 && len(unread) > 0:
			r.bad, r.context = false, true
			rs = append(rs, unreadSwitch(s, unread))
		case len(open) == 0:
			r.bad, r.value = false, r.value+", disabled or held back on each CPU"
		case whole(limit).unknown(): // enabled, yet a limit that cannot be seen may hold it back
			r.bad, r.context, r.value = false, true, r.value+", enabled on CPUs "+host.FormatList(open)
			rs = append(rs, whole(limit))
		default:
			r.value += ", enabled on CPUs " + host.FormatList(open)
		}
		rs = append(rs, r)
	}
	if _, ok := limit.Get(); ok && len(rs) > 0 {
		rs = append(rs, aside(limit))
	}
	return rs
}

// heldLimit is the limit of the wake-up latency in force; absent means none. A
// container usually lacks the device, which says nothing about the limit.
func heldLimit(f *host.Facts) host.Fact[float64] {
	l := f.Idle.DMALatency
	if (l.State == host.StateAbsent || l.State == "") && f.Virt.Container.Or("none") != "none" {
		return host.Fact[float64]{Source: cmp.Or(l.Source, "/dev/cpu_dma_latency"), State: host.StateError,
			Reason: "not visible inside a container"}
	}
	return l
}

// unreadSwitch stands for the disable files that could not be read.
func unreadSwitch(s host.IdleState, cpus []int) reading {
	if r := whole(s.Disable); r.unknown() {
		return r
	}
	return reading{path: cmp.Or(s.Disable.Source, noSource), state: host.StateError,
		value: "error: not readable on CPUs " + host.FormatList(cpus)}
}

// openCPUs lists the CPUs on which a state is neither disabled nor beyond the
// CPU's own limit, and those of which that is not known. The kernel skips
// states whose exit latency exceeds the limit.
func openCPUs(f *host.Facts, s host.IdleState, latency float64) (open, unread []int) {
	closed, blind := map[int]bool{}, map[int]bool{}
	for _, cpu := range s.Disabled {
		closed[cpu] = true
	}
	for _, c := range f.Idle.Resume {
		if limit, ok := c.Value.Get(); ok && latency > limit {
			closed[c.CPU] = true
		}
	}
	for _, cpu := range s.Unread {
		blind[cpu] = true
	}
	for _, cpu := range s.CPUs {
		switch {
		case closed[cpu]:
		case blind[cpu]:
			unread = append(unread, cpu)
		default:
			open = append(open, cpu)
		}
	}
	slices.Sort(open)
	slices.Sort(unread)
	return open, unread
}

func lookLatencyLimit(f *host.Facts, _ Role) view {
	fact := heldLimit(f)
	limit, held := fact.Get()
	rs := []reading{aside(fact)}
	blind := false
	for _, s := range f.Idle.States {
		r := readAs(s.Latency, func(v float64) string { return s.Name.Or("state") + ": " + seconds(v) },
			func(v float64) bool { return v <= deepLatency })
		if lat, known := s.Latency.Get(); known && r.bad {
			open, unread := openCPUs(f, s, lat)
			r.bad = len(open) > 0
			if len(open) == 0 && len(unread) > 0 {
				r = unreadSwitch(s, unread)
			}
		}
		if held && limit <= deepLatency { // holds all states back, known or not
			r.bad, r.context = false, r.unknown()
		}
		if rs[0].unknown() && r.bad {
			r.bad, blind = false, true
		}
		rs = append(rs, r)
	}
	rs[0].context = !blind && (!held || limit > deepLatency) // else the limit decides nothing
	v := see(rs...)
	who := "no process holds a limit"
	if held && limit < noLatencyLimit {
		who = "the limit held is " + seconds(limit)
	}
	v.bad = fmt.Sprintf("%s, and %s open (see IDL-001; either cure suffices)", who,
		screen.Plural(len(wrong(rs)), "state above 70 us is", "states above 70 us are"))
	return v
}

func lookIdleCmdline(f *host.Facts, _ Role) view {
	if len(f.Idle.States) == 0 {
		return view{}
	}
	if v, ok := f.Identity.CPUVendor.Get(); ok && v != "GenuineIntel" {
		return view{absent: "the notes that ask for it are about Intel processors; this one is by " + v}
	}
	limited := idleWords(f.Kernel.Cmdline.Or(""))
	line := readAs(f.Kernel.Cmdline, func(string) string {
		return cmp.Or(strings.Join(limited, " "), "neither intel_idle.max_cstate nor processor.max_cstate")
	}, func(string) bool { return true }).need()
	if line.state != host.StateOK || len(limited) > 0 {
		return view{readings: []reading{line}, absent: "no kernel command line is visible", ok: "the command line limits idle states"}
	}
	line.context = true
	return view{readings: append([]reading{line}, idleReadings(f)...),
		ok: "not on the command line, and not needed: no state above 70 us can be entered"}
}

// idleWords picks the words of a command line that keep CPUs out of deep
// states. A limit above 1 still lets C2 and deeper in, and intel_idle's 0 hands
// over to acpi_idle, which has a limit of its own.
func idleWords(cmdline string) []string {
	var out []string
	for _, w := range strings.Fields(cmdline) {
		switch w {
		case "intel_idle.max_cstate=1", "processor.max_cstate=0", "processor.max_cstate=1", "idle=poll", "idle=halt":
			out = append(out, w)
		}
	}
	return out
}
