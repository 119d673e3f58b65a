package check

import (
	"cmp"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// deepLatency is how long a CPU may take to wake, in s, before its idle state
// counts as deep. SAP's HANA notes and sapconf draw the line here.
const deepLatency = 70e-6

const noIdle = "the kernel controls no idle states here (no cpuidle states)"

// idle holds the checks of idle states.
var idle = []Check{
	{
		ID: "IDL-001", Subject: Idle, Title: "Idle states that take over 70 us to leave",
		Severity: inProduction(High, Medium),
		absent:   noIdle, ok: "no idle state above 70 us can be entered", fix: disableDeep,
		look: func(f *host.Facts, _ Role) view {
			v := see(idleReadings(f)...)
			v.bad = screen.Plural(len(wrong(v.readings)), "idle state", "idle states") + " above 70 us can be entered"
			if !runs(f, "hana") {
				return v.atMost(Medium)
			}
			return v
		},
	},
}

// disableDeep chooses by latency, never by index: C3 of one processor is C6 of
// another (tuned#808).
var disableDeep = remedy{script("for s in /sys/devices/system/cpu/cpu*/cpuidle/state*; do " +
	"if [ $(cat $s/latency) -gt 70 ]; then echo 1 | sudo tee $s/disable; fi; done").noting(effect("cstate_latency")),
	remark("lasts until a reboot; 'hostlab export systemd cpu_dma_latency=70' writes a unit that keeps it, as tuned's " +
		"force_latency does")}

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
