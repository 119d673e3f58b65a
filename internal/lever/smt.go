package lever

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/probe"
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
	l := in.new(check.SMT, "Siblings")
	l.BoundOf = "the lock rate of a thread whose sibling scans memory"
	sib, other := in.first(probe.HarmSibling), in.first(probe.HarmOther)
	l.Measurement = sib
	if !known(sib) {
		l.unbounded("what a memory scan on the sibling costs was not measured")
		in.rest(&l, in.whyUnmeasured("siblings", probe.HarmSibling))
		if sib != nil && (l.Verdict == Settled || l.Verdict == Untestable) {
			l.decide(Untestable, Next{}, sib.Reason)
		}
		return l
	}
	e := sib.Estimate
	l.Disturbed = sib.Labels.Disturbed
	kept := "with a scan on its sibling, a thread that takes locks kept " + short(sib) + " of its rate"
	switch {
	case l.Disturbed != "":
		l.why = l.Disturbed
	case !e.HasInterval():
		l.why = "too few rounds for an interval"
	case math.IsNaN(sib.NoiseFloor):
		l.why = "the probe has no noise floor to compare with"
	case sib.NoiseFloor > Margin:
		l.why = fmt.Sprintf("two identical runs differ by up to %s here: too noisy to tell", Percent(sib.NoiseFloor))
	}
	if l.why != "" {
		l.unbounded(l.why)
		l.decide(Unresolved, in.assess(), kept, l.why)
		return l
	}
	l.bounded(1-e.Low, BoundMeasured,
		fmt.Sprintf("with a scan on its sibling, a thread that takes locks kept at least %s of its rate; in this test, moving the "+
			"scan to another core gives back at most %s",
			Percent(max(0, e.Low)), Percent(max(0, 1-e.Low))))
	switch {
	case 1-e.High > sib.NoiseFloor && e.High < harmSibling:
		in.smtHarm(&l, sib, other)
	case e.Low >= 1-Margin && e.High <= 1+Margin:
		l.decide(NoEffect, Next{}, "a scan on the sibling hardly slows a thread that takes locks: it kept "+
			short(sib)+" of its rate")
	case e.Contains(1):
		l.why = "the 95 % confidence interval includes 1"
		l.decide(Unresolved, in.assess(), kept, l.why)
	default:
		l.Cost = 1-e.High > sib.NoiseFloor
		l.effect = 1 - e.High
		l.why = fmt.Sprintf("a scan on the sibling may slow threads that take locks, but perhaps by less than the %s that counts as "+
			"harm", Percent(1-harmSibling))
		l.says = fmt.Sprintf("a thread that takes locks keeps %s of its rate (%s) with a scan on its sibling", short(sib), Count(sib))
		l.decide(Unresolved, in.assess(), l.why+": they kept "+short(sib)+" of their rate")
	}
	return l
}

func (in *input) smtHarm(l *Lever, sib, other *result.Measurement) {
	l.Cost, l.effect = true, 1-sib.Estimate.High
	l.says = fmt.Sprintf("a thread that takes locks keeps %s of its rate (%s) with a scan on its sibling", short(sib), Count(sib))
	switch {
	case !known(other) || !other.Estimate.HasInterval():
		l.why = "whether a scan on another core does the same was not measured"
	case other.Labels.Disturbed != "":
		l.why = "the comparison with another core was disturbed: " + other.Labels.Disturbed
	case !(other.NoiseFloor <= Margin):
		l.why = "the comparison with another core is too noisy"
	case sib.Estimate.High/other.Estimate.Low >= harmRelative:
		l.why = "a scan on another core costs as much: the cause is shared memory or cache, not the sibling"
	default:
		next := cmp.Or(remedy(l.todo), Next{"lscpu --extended=CPU,CORE,SOCKET",
			"shows the cores; pin scanning jobs to cores of their own with taskset -c"})
		l.decide(Worthwhile, next, fmt.Sprintf("%s, and %s with the scan on another core: keep scans and log writers on different cores",
			l.says, short(other))+in.throughputs())
		return
	}
	l.decide(Unresolved, in.assess(), l.says, l.why+in.throughputs())
}

// throughputs names what both threads got done in each place, since moving one
// of them trades the other's rate; "" where that was not measured.
func (in *input) throughputs() string {
	var parts []string
	for _, p := range []struct {
		scans, locks result.Kind
		where        string
	}{{probe.ScansSibling, probe.LocksSibling, "on the sibling"}, {probe.ScansOther, probe.LocksOther, "on another core"}} {
		scans, locks := in.first(p.scans), in.first(p.locks)
		if known(scans) && known(locks) {
			parts = append(parts, fmt.Sprintf("with the scan %s: %s scans and %s locks",
				p.where, result.Format(scans.Estimate.Value, "1/s"), result.Format(locks.Estimate.Value, "1/s")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ". Rates " + strings.Join(parts, "; ")
}
