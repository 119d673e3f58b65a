package check

import (
	"fmt"

	"hostlab/internal/host"
)

// idling makes four CPUs with POLL, C1 (2 us) and one deep state; its latency
// in us, the CPUs on which it is disabled, and the limit in force in us (below
// 0: nobody looked).
func idling(deep float64, limit float64, disabled ...int) func(*host.Facts) {
	return func(f *host.Facts) {
		for i, s := range []struct {
			name string
			us   float64
		}{{"POLL", 0}, {"C1", 2}, {"C6", deep}} {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu0/cpuidle/state%d", i)
			st := host.IdleState{Index: i, Name: known(s.name, dir+"/name"), Latency: secs(s.us, dir+"/latency"), CPUs: upTo(4)}
			if s.name == "C6" {
				st.Disabled = disabled
			}
			f.Idle.States = append(f.Idle.States, st)
		}
		if limit >= 0 {
			f.Idle.DMALatency = secs(limit, "/dev/cpu_dma_latency")
		}
	}
}

const noLimit = 2e9 // us: what the kernel reports where nobody asks for less

func hiddenLimit(facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		facts(f)
		f.Idle.DMALatency = denied[float64]("/dev/cpu_dma_latency")
	}
}

func contained(facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		facts(f)
		f.Virt.Container = known("docker", "/proc/1/cgroup")
	}
}

func siblings(control string, active bool) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Topology.SMTControl = known(control, "/sys/devices/system/cpu/smt/control")
		f.Topology.SMTActive = known(active, "/sys/devices/system/cpu/smt/active")
	}
}

var idleCases = []lookCase{
	{id: "IDL-001", name: "deep state open", facts: idling(133, noLimit), want: Finding,
		evidence: "C6: 133 us, enabled on CPUs 0-3", remedy: "-gt 70"},
	{id: "IDL-001", name: "open on one CPU", facts: idling(133, noLimit, 0, 1, 3), want: Finding,
		evidence: "enabled on CPUs 2"},
	{id: "IDL-001", name: "state 2 of a processor that wakes fast", facts: idling(70, noLimit), want: OK},
	{id: "IDL-001", name: "disabled", facts: idling(133, noLimit, 0, 1, 2, 3), want: OK},
	{id: "IDL-001", name: "held back by a limit", facts: idling(133, 70), want: OK, evidence: "held back"},
	{id: "IDL-001", name: "held back on each CPU", want: OK, facts: func(f *host.Facts) {
		idling(133, noLimit, 0, 1)(f)
		for _, c := range []int{2, 3} {
			f.Idle.Resume = append(f.Idle.Resume, host.CPUValue[float64]{CPU: c, Value: secs(50, "pm_qos_resume_latency_us")})
		}
	}},
	{id: "IDL-001", name: "no limit of its own", want: Finding, facts: func(f *host.Facts) {
		idling(133, noLimit, 1, 2, 3)(f)
		f.Idle.Resume = []host.CPUValue[float64]{{CPU: 0, Value: absent[float64]("pm_qos_resume_latency_us")}}
	}},
	{id: "IDL-001", name: "no latency tolerated at all", want: OK, facts: func(f *host.Facts) {
		idling(133, noLimit, 1, 2, 3)(f)
		f.Idle.Resume = []host.CPUValue[float64]{{CPU: 0, Value: secs(0, "pm_qos_resume_latency_us")}}
	}},
	{id: "IDL-001", name: "no limit set", facts: idling(133, -1), want: Finding},
	{id: "IDL-001", name: "container does not see the limit", want: Unknown,
		evidence: "cpu_dma_latency = error: not visible inside a container",
		facts:    contained(idling(133, -1))},
	{id: "IDL-001", name: "the limit may not be read", facts: hiddenLimit(idling(133, -1)), want: Unknown,
		evidence: "cpu_dma_latency = denied"},
	{id: "IDL-001", name: "nothing to hold back", facts: hiddenLimit(idling(50, -1)), want: OK},
	{id: "IDL-001", name: "disable files denied", want: Unknown, facts: func(f *host.Facts) {
		idling(133, noLimit)(f)
		f.Idle.States[2].Unread = upTo(4)
		f.Idle.States[2].Disable = denied[bool]("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")
	}},
	{id: "IDL-001", name: "disabled on some, unread on the rest", want: Unknown,
		evidence: "error: not readable on CPUs 2-3", facts: func(f *host.Facts) {
			idling(133, noLimit, 0, 1)(f)
			f.Idle.States[2].Unread = []int{2, 3}
			f.Idle.States[2].Disable = known(true, "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")
		}},
	{id: "IDL-001", name: "unread on some, open on another", want: Finding, evidence: "enabled on CPUs 0-2",
		facts: func(f *host.Facts) {
			idling(133, noLimit)(f)
			f.Idle.States[2].Unread = []int{3}
		}},
	{id: "IDL-001", name: "guest", facts: func(*host.Facts) {}, want: NotApplicable},

	{id: "SMT-001", name: "on", facts: siblings("on", true), want: Finding, remedy: "hostlab assess"},
	{id: "SMT-001", name: "on a development system", role: Development, facts: siblings("on", true), want: Finding},
	{id: "SMT-001", name: "off", facts: siblings("off", false), want: OK},
	{id: "SMT-001", name: "not supported", facts: siblings("notsupported", false), want: NotApplicable},
	{id: "SMT-001", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		f.Topology.SMTActive = denied[bool]("/sys/devices/system/cpu/smt/active")
	}},
}
