package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
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
const holdLatency = "sudo sh -c \"exec 3>/dev/cpu_dma_latency; printf 0x00000046 >&3; sleep infinity\"\n" +
	"# holds 70 us while it runs; for good: sudo tuned-adm profile sap-hana, or\n" +
	"# latency-performance for less, both of which change other settings too"

var deepIdle = Check{
	ID: "IDL-001", Lever: LeverIdle, Title: "Idle states that take over 70 us to leave",
	Why: "A CPU in a deep idle state needs its exit latency to wake and comes back with cold caches. A database that " +
		"waits briefly and often, for log writes, locks or clients, pays that at nearly every wait while load is low.",
	Source: "SAP HANA notes 2205917, 2684254, 3577842 (force_latency 70); sapconf; SAP note 1656250 on AWS",
	Disagree: "The bound differs: 1656250 keeps only C1, tuned latency-performance 3 us, mssql 5 us, postgresql 1 us. " +
		"The mildest, 70 us, decides here. Shallow states are kept on purpose: they leave power for the turbo of busy " +
		"cores. States are chosen by latency, since an index names different states on different processors.",
	Severity: inProduction(High, Medium),
	Look: func(f *host.Facts, _ Role) Outcome {
		return judge(idleReadings(f), answers{
			absent: noIdle,
			ok:     "no idle state above 70 us can be entered",
			bad: func(bad []reading) (string, string) {
				return fmt.Sprintf("%s above 70 us can be entered", count(len(bad), "idle state", "idle states")), disableDeep
			},
		})
	},
}

// disableDeep chooses by latency, never by index: C3 of one processor is C6 of
// another (tuned#808).
const disableDeep = "for s in /sys/devices/system/cpu/cpu*/cpuidle/state*; do " +
	"if [ $(cat $s/latency) -gt 70 ]; then echo 1 | sudo tee $s/disable; fi; done"

// idleReadings judges each idle state: bad means deep and open to some CPU.
func idleReadings(f *host.Facts) []reading {
	var rs []reading
	dma := f.Idle.DMALatency
	for _, s := range f.Idle.States {
		lat, known := s.Latency.Get()
		r := readAs(s.Latency, func(v float64) string { return s.Name.Or("state") + ": " + seconds(v) },
			func(v float64) bool { return v <= deepLatency })
		if !known || !r.bad {
			rs = append(rs, r)
			continue
		}
		if st := s.Unread.State; st == host.StateDenied || st == host.StateError {
			rs = append(rs, read(s.Unread, isTrue))
			continue
		}
		open := openCPUs(f, s, lat)
		limit, limited := dma.Get()
		switch {
		case len(open) == 0:
			r.bad, r.value = false, r.value+", disabled or held back on each CPU"
		case limited && lat > limit:
			r.bad, r.value = false, r.value+", held back by the limit of "+seconds(limit)
		case dma.State == host.StateDenied || dma.State == host.StateError:
			// Enabled, yet a limit that cannot be seen may hold it back.
			r.bad, r.context, r.value = false, true, r.value+", enabled on CPUs "+host.FormatList(open)
			rs = append(rs, whole(dma))
		default:
			r.value += ", enabled on CPUs " + host.FormatList(open)
		}
		rs = append(rs, r)
	}
	if _, ok := dma.Get(); ok && len(rs) > 0 {
		rs = append(rs, aside(dma))
	}
	return rs
}

// openCPUs lists the CPUs on which a state is neither disabled nor beyond the
// CPU's own limit. The kernel skips states whose exit latency exceeds it.
func openCPUs(f *host.Facts, s host.IdleState, latency float64) []int {
	closed := map[int]bool{}
	for _, cpu := range s.Disabled {
		closed[cpu] = true
	}
	for _, c := range f.Idle.Resume {
		if us, ok := c.Value.Get(); ok && us > 0 && latency > float64(us)*1e-6 {
			closed[c.CPU] = true
		}
	}
	var open []int
	for _, cpu := range s.CPUs {
		if !closed[cpu] {
			open = append(open, cpu)
		}
	}
	slices.Sort(open)
	return open
}

var latencyLimit = Check{
	ID: "IDL-002", Lever: LeverIdle, Title: "Limit of the wake-up latency (cpu_dma_latency)",
	Why: "A process that holds /dev/cpu_dma_latency open keeps all CPUs out of states that wake more slowly than it " +
		"asks. Unlike switches in sysfs the limit covers CPUs that come online later, and it ends with its holder, so " +
		"nothing is left behind.",
	Source: "tuned latency-performance, sap-hana, mssql and postgresql profiles; SAP note 3577842",
	Disagree: "latency-performance asks for the first state's latency or else 3 us, sap-hana for 70 us, mssql 5 us, " +
		"postgresql 1 us. Any limit up to 70 us is accepted, and so is none where all deeper states are disabled.",
	Severity: inProduction(Low, Info),
	Look:     lookLatencyLimit,
}

func lookLatencyLimit(f *host.Facts, _ Role) Outcome {
	var deep, blind []reading
	for _, s := range f.Idle.States {
		lat, known := s.Latency.Get()
		switch st := s.Unread.State; {
		case !known:
			r := whole(s.Latency)
			if r.unknown() {
				blind = append(blind, r)
			}
		case lat <= deepLatency:
		case st == host.StateDenied || st == host.StateError:
			blind = append(blind, read(s.Unread, isTrue))
		case len(openCPUs(f, s, lat)) > 0:
			deep = append(deep, aside(s.Latency))
		}
	}
	if len(f.Idle.States) == 0 {
		return notApplicable(noIdle)
	}
	limit := read(f.Idle.DMALatency, func(v float64) bool { return v <= deepLatency || len(deep)+len(blind) == 0 })
	if limit.unknown() && len(deep)+len(blind) == 0 {
		return Outcome{Status: OK, Evidence: group([]reading{limit}), Detail: "no state above 70 us is open, limit or none"}
	}
	rs := append([]reading{limit}, deep...)
	if limit.bad && len(deep) == 0 { // whether the limit is needed hangs on states that cannot be read
		limit.bad = false
		rs = append([]reading{limit}, blind...)
	}
	return judge(rs, answers{
		absent: "the kernel has no limit of the wake-up latency",
		ok:     "CPUs wake within 70 us",
		bad: func([]reading) (string, string) {
			held := "no process holds a limit"
			if v := f.Idle.DMALatency.Value; v < noLatencyLimit {
				held = "the limit held is " + seconds(v)
			}
			return fmt.Sprintf("%s, and %s open (see IDL-001; either cure suffices)",
				held, count(len(deep), "state above 70 us is", "states above 70 us are")), holdLatency
		},
	})
}

var idleCmdline = Check{
	ID: "IDL-003", Lever: LeverIdle, Title: "Idle states limited on the kernel command line",
	Why: "intel_idle.max_cstate and processor.max_cstate keep deep idle states from existing at all, from boot on and " +
		"out of reach of any daemon. The price is a reboot to change it, and no shallow states in between to save with.",
	Source: "SAP notes 2205917, 2684254 and 1656250 (intel_idle.max_cstate=1 processor.max_cstate=1)",
	Disagree: "Note 3577842, for newer systems, no longer asks for it, since a latency limit of 70 us does the same at " +
		"run time (IDL-002). So it is information only, and satisfied where deep states are closed by other means.",
	Severity: inProduction(Info, Info),
	Look:     lookIdleCmdline,
}

func lookIdleCmdline(f *host.Facts, _ Role) Outcome {
	if len(f.Idle.States) == 0 {
		return notApplicable(noIdle)
	}
	if v, ok := f.Identity.CPUVendor.Get(); ok && v != "GenuineIntel" {
		return notApplicable("the notes that ask for it are about Intel processors; this one is by %s", v)
	}
	limited := false
	line := readAs(f.Kernel.Cmdline, func(s string) string {
		words := idleWords(s)
		limited = len(words) > 0
		return orElse(strings.Join(words, " "), "neither intel_idle.max_cstate nor processor.max_cstate")
	}, func(string) bool { return true })
	if o, stop := need("no kernel command line is visible", line); stop {
		return o
	}
	if limited {
		return judge([]reading{line}, answers{ok: "the command line limits idle states"})
	}
	rs := []reading{line}
	rs[0].context = true
	return judge(append(rs, idleReadings(f)...), answers{
		absent: noIdle,
		ok:     "not on the command line, and not needed: no state above 70 us can be entered",
		bad: func([]reading) (string, string) {
			return "the older notes' switch is not set and deep states are open; IDL-001 and IDL-002 need no reboot",
				"sudo grubby --update-kernel=ALL --args=\"intel_idle.max_cstate=1 processor.max_cstate=1\"\n" +
					"# without grubby: add both to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub"
		},
	})
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
