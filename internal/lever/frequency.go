package lever

import (
	"fmt"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// frequency is moved by the power policy. The wake-up probe's arithmetic slice
// stays in registers, so that what it loses after a sleep is clock, not caches.
func (in *input) frequency() Lever {
	l := in.new(check.LeverFrequency, "Frequency policy")
	l.BoundOf = "the CPU time of a short burst of work after a pause"
	r := decide(in.known("wakeup.alu."))
	l.Measurement = r.m
	if l.Bound = saving(r.worst); l.Bound != nil {
		l.BoundWhy = fmt.Sprintf("at its worst the same arithmetic took up to %s as long after 100 ms asleep as within busy work; a policy that holds the frequency can give back no more",
			result.Format(max(1, r.worst), "ratio"))
	} else {
		l.BoundWhy = "unknown: no wake-up penalty with an interval was measured"
	}
	todo := actionable(in.findings(l.Name))
	switch r.call {
	case costs:
		in.frequencyCosts(&l, r, todo)
	case small:
		l.Verdict = NoEffect
		l.Summary = fmt.Sprintf("bursts after a pause take at most %s as long: the policy costs them nothing that matters", result.Format(max(1, r.worst), "ratio"))
		if unseen := notSeenByWakeup(todo); len(unseen) > 0 {
			l.Verdict = Recommended
			l.Summary += fmt.Sprintf("; but %s caps all work alike, which this probe cannot see", unseen[0].ID)
			l.Next = remedy(unseen)
		} else if len(todo) > 0 {
			l.Next = "hostlab explain-check " + todo[0].ID
		}
	case undecided:
		if len(todo) > 0 {
			in.rest(&l, "")
			l.Summary += "; the wake-up probe does not decide: " + r.why
			return l
		}
		l.Verdict, l.Summary = Unresolved, r.why
		l.Next = in.assess()
	default:
		in.rest(&l, in.whyUnmeasured("wakeup", "wakeup.alu."))
		if l.Verdict == Untestable && l.Next == "" {
			l.Next = in.assess()
		}
	}
	return l
}

func (in *input) frequencyCosts(l *Lever, r reading, todo []check.Result) {
	l.Verdict = Worthwhile
	l.Summary = fmt.Sprintf("after a pause, work takes %s as long (beyond noise in %d of %d comparisons)",
		result.Format(r.m.Estimate.Value, "ratio"), r.beyond, r.of)
	busy, slept := in.named("wakeup.frequency.busy.cpu"+r.m.Labels["cpu"]), in.named("wakeup.frequency.after-sleep.cpu"+r.m.Labels["cpu"])
	if known(busy) && known(slept) && slept.Estimate.Value < busy.Estimate.Value {
		l.Summary += fmt.Sprintf("; the clock was seen at %s instead of %s",
			result.Format(slept.Estimate.Value, "Hz"), result.Format(busy.Estimate.Value, "Hz"))
	}
	switch {
	case in.role == check.Development:
		l.Verdict = NotForRole
		l.Summary += "; a development system should save the energy instead"
	case !in.hasFrequencyKnob():
		l.Summary += "; this host has no knob for it: worth taking to whoever runs the " + in.below()
		l.Next = "hostlab check --role " + string(in.role) + "   # on the " + in.below() + "; or send this report"
	case len(todo) > 0:
		l.Next = remedy(todo)
	default:
		l.Summary += "; no setting seen here explains it: look at the firmware's power profile"
		l.Next = "hostlab facts"
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

// notSeenByWakeup drops the findings whose effect the wake-up ratio would show:
// settings that choose how fast the clock rises. A cap (limits, boost) slows the
// busy and the slept slice alike and leaves the ratio at 1.
func notSeenByWakeup(findings []check.Result) []check.Result {
	rises := []string{"scaling_governor", "energy_performance_preference", "energy_perf_bias", "platform_profile"}
	var out []check.Result
	for _, f := range findings {
		seen := false
		for _, e := range f.Evidence {
			for _, name := range rises {
				seen = seen || strings.Contains(e.Path, name)
			}
		}
		if !seen {
			out = append(out, f)
		}
	}
	return out
}
