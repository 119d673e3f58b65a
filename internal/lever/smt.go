package lever

import (
	"fmt"
	"math"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// The limits of harm to a thread that takes locks while another scans memory:
// beside it on the same core it must keep less than 90 % of its rate, and less
// than 95 % of what it keeps when the scanner is on another core.
const (
	harmSibling  = 0.90
	harmRelative = 0.95
)

// smt is moved by placement. It never advises to turn siblings off: what a
// sibling adds in throughput is not measured by this probe.
func (in *input) smt() Lever {
	l := in.new(check.LeverSMT, "Siblings")
	l.BoundOf = "the lock rate of a thread beside a memory scan"
	l.BoundWhy = "unknown: the harm of a scanning sibling was not measured"
	sib, other := in.named("siblings.harm.sibling"), in.named("siblings.harm.other")
	if sib == nil || !sib.Known() {
		l.Measurement = sib
		in.rest(&l, in.whyUnmeasured("siblings", "siblings.harm.sibling"))
		if sib != nil && (l.Verdict == Settled || l.Verdict == Untestable) {
			l.Verdict, l.Summary, l.Next = Untestable, sib.Reason, ""
		}
		return l
	}
	l.Measurement = sib
	e := sib.Estimate
	if e.HasInterval() {
		b := max(0, 1-e.Low)
		l.Bound = &b
		l.BoundWhy = fmt.Sprintf("with a scan on its sibling, a lock thread kept as little as %s of its rate; keeping scans off its core can give back no more",
			Percent(max(0, e.Low)))
	}
	l.Verdict, l.Next = Unresolved, in.assess()
	switch {
	case !e.HasInterval():
		l.Summary = "too few rounds for an interval"
	case math.IsNaN(sib.NoiseFloor):
		l.Summary = "the probe has no noise floor to compare with"
	case 1-e.High > sib.NoiseFloor && e.High < harmSibling:
		in.smtHarm(&l, sib, other)
	case sib.NoiseFloor > Margin:
		l.Summary = fmt.Sprintf("the same run twice differs by up to %s here: too noisy to tell", Percent(sib.NoiseFloor))
	case e.Low >= 1-Margin && e.High <= 1+Margin:
		l.Verdict, l.Next = NoEffect, ""
		l.Summary = "a scan on the sibling takes nothing that matters from a thread that takes locks"
	case e.Contains(1):
		l.Summary = "the interval includes no effect"
	default:
		l.Summary = fmt.Sprintf("a scan on the sibling may cost lock threads something, but less than the %s that would count as harm is possible", Percent(1-harmSibling))
	}
	return l
}

func (in *input) smtHarm(l *Lever, sib, other *result.Measurement) {
	keeps := Percent(sib.Estimate.Value)
	switch {
	case other == nil || !other.Known() || !other.Estimate.HasInterval():
		l.Summary = "a lock thread keeps " + keeps + " of its rate beside a scan, but whether a scan elsewhere does the same was not measured"
	case sib.Estimate.High/other.Estimate.Low >= harmRelative:
		l.Summary = "a scan costs lock threads as much from another core as from the sibling: shared memory or cache, not siblings"
	default:
		l.Verdict = Worthwhile
		l.Summary = fmt.Sprintf("a lock thread keeps %s of its rate with a scan on its sibling, %s with it on another core: keep scans and log writers on different cores",
			keeps, Percent(other.Estimate.Value))
		if l.Next = remedy(actionable(in.findings(l.Name))); l.Next == "" {
			l.Next = "lscpu --extended=CPU,CORE,SOCKET   # shows the cores; pin scanning jobs to some of their own with taskset -c"
		}
	}
}
