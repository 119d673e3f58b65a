package lever

import (
	"cmp"
	"fmt"
	"math"

	"hostlab/internal/check"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// frequency is moved by the power policy. The wake-up probe's arithmetic slice
// stays in registers, so that what it loses after a sleep is clock, not caches.
// It compares a CPU with itself: a clock that is always low shows nothing, which
// is why no finding is ever dismissed by it.
func (in *input) frequency() *draft {
	l := in.new(Clock)
	l.bound.Of = "the CPU time of a short burst of work after a pause"
	r, held, clock := decide(in.known(probe.WakeALU)), in.held(), in.clock()
	l.take(r)
	in.frequencyBound(l, r, held, clock)
	in.beside(l, r)
	if held != nil {
		l.held = held.says
	}
	watch := step("hostlab watch", "shows the clock while work runs")
	switch {
	case r.reason == Costs:
		in.frequencyCosts(l, r, watch)
	case len(l.todo) > 0:
		in.rest(l, "")
		l.add(l.held, in.clockSays(r, clock))
	case held != nil && in.role == check.Development:
		l.decide(OtherRole, Next{}, l.held, saveEnergy)
	case held != nil:
		l.decide(Capped, watch, l.held, in.clockSays(r, clock))
	case r.reason == NoEffect && clock.full():
		l.decide(NoEffect, Next{},
			fmt.Sprintf("after a pause, arithmetic takes at most %s as long, so the clock does not drop "+
				"in 100 ms of idling%s", result.Format(max(1, r.worst), "ratio"), in.while()))
		if clock.max == 0 {
			l.text += ". This test cannot see a permanent cap"
		}
	case r.reason == NoEffect:
		l.decide(Capped, watch, in.clockSays(r, clock))
	case r.reason.open():
		l.decide(r.reason, in.assess(), r.why())
	default:
		in.rest(l, in.whyUnmeasured("wakeup", probe.WakeALU))
		if l.reason == Untested && l.next.Command == "" {
			l.next = in.assess()
		}
	}
	return l
}

// frequencyBound multiplies what the clock loses at all loads, as far as the
// settings tell, with what it loses after a pause.
func (in *input) frequencyBound(l *draft, r reading, held *heldClock, clock busyClock) {
	after := max(1, r.worst) // NaN stays NaN
	burst := fmt.Sprintf("after 100 ms of sleep, arithmetic took up to %s as long as without the sleep",
		result.Format(after, "ratio"))
	switch {
	case held != nil && math.IsNaN(after):
		l.bounded(1-held.share, Computed, "computed from this host's settings: "+held.says)
	case held != nil:
		l.bounded(1-held.share/after, Computed, "computed from this host's settings: "+held.says+"; "+burst)
	case math.IsNaN(after) && r.reason == "":
		l.unbounded("no wake-up penalty was measured")
	case math.IsNaN(after):
		l.unbounded("the wake-up penalty was not measured well enough: " +
			cmp.Or(r.disturbed, r.why(), "a reference was still getting faster"))
	case len(l.todo) > 0 && r.reason != Costs:
		l.unbounded("the wake-up test compares the CPU with itself, so it cannot see a clock that is always low")
	case clock.share < reached: // false for NaN
		l.bounded(1-clock.share/after, Computed,
			fmt.Sprintf("computed: busy CPUs ran at about %s, by their additions, but the host reports up to %s; %s",
				result.Format(clock.hz, "Hz"), result.Format(clock.max, "Hz"), burst))
	default:
		l.bounded(saving(after), Measured, burst+"; a clock that never drops would save no more than that")
	}
}

// clockSays says what the wake-up test showed where it does not decide.
func (in *input) clockSays(r reading, clock busyClock) string {
	at := ""
	switch {
	case !math.IsNaN(clock.share):
		at = fmt.Sprintf(", at about %s of the %s that the host reports", result.Format(clock.hz, "Hz"),
			result.Format(clock.max, "Hz"))
	case !math.IsNaN(clock.hz):
		at = fmt.Sprintf(", at about %s", result.Format(clock.hz, "Hz"))
	}
	switch {
	case r.reason == NoEffect:
		return "the clock was the same after a sleep as in busy work" + at + "; this test cannot see a permanent cap"
	case r.reason.open():
		return "the wake-up test decides nothing: " + r.why()
	default:
		return "not measured: " + in.whyUnmeasured("wakeup", probe.WakeALU)
	}
}

// saveEnergy is why a development system bears a cost.
const saveEnergy = "a development system should save the energy instead"

func (in *input) frequencyCosts(l *draft, r reading, watch Next) {
	l.effect = saving(r.m.Estimate.Low)
	l.says = fmt.Sprintf("after a pause of 100 ms, %s of arithmetic takes %s as long (%s)", sliceWords(r.m), short(r.m),
		Count(r.m))
	l.decide(Costs, Next{}, l.says, r.spread())
	if r.ramping {
		l.add("it may be more, because the CPU was still getting faster while it was busy")
	}
	if l.held != "" {
		l.add("and " + l.held)
	}
	busy, slept := in.alike(probe.ClockBusy, r.m), in.alike(probe.ClockSlept, r.m)
	if known(busy) && known(slept) && slept.Estimate.Value < busy.Estimate.Value {
		l.add(fmt.Sprintf("the clock was %s after the pause, %s without", result.Format(slept.Estimate.Value, "Hz"),
			result.Format(busy.Estimate.Value, "Hz")))
	}
	switch {
	case in.role == check.Development:
		l.reason = OtherRole
		l.add(saveEnergy)
	case !in.hasFrequencyKnob():
		l.add("this host has no knob for it")
		l.next = step("hostlab check --role "+string(in.role), "on the "+in.below()+", or send its owner this report")
	case len(l.todo) > 0:
		l.next = remedy(l.todo)
	default:
		l.add("no setting that hostlab sees explains it: look at the firmware's power profile")
		l.next = watch
	}
}

// hasFrequencyKnob reports whether this system itself sets frequencies.
func (in *input) hasFrequencyKnob() bool {
	return len(in.facts.Frequency.Policies) > 0 || in.facts.Windows != nil
}

// below names what this system runs on.
func (in *input) below() string {
	switch hv := in.facts.Virt.Hypervisor.Or("none"); hv {
	case "none", "":
		return "machine underneath"
	default:
		return hv + " hypervisor"
	}
}
