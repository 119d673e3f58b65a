package lever

import (
	"fmt"
	"math"
	"strings"

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
func (in *input) smt() *draft {
	l := in.new(SMT)
	l.bound.Of = "the lock rate of a thread whose sibling scans memory"
	sib, other := in.first(probe.HarmSibling), in.first(probe.HarmOther)
	l.measurement = sib
	if !known(sib) {
		l.unbounded("what a memory scan on the sibling costs was not measured")
		in.rest(l, in.whyUnmeasured("siblings", probe.HarmSibling))
		if sib != nil && (l.reason == Settled || l.reason == Untested) {
			l.checks = ""
			l.decide(Untested, Next{}, sib.Reason)
			threads, known := in.facts.Topology.Threads.Get()
			if cores, also := in.facts.Topology.Cores.Get(); known && also && threads == cores {
				l.reason = NoSiblings
			}
		}
		return l
	}
	e := sib.Estimate
	l.disturbed = sib.Labels.Disturbed
	kept := "with a scan on its sibling, a thread that takes locks kept " + short(sib) + " of its rate"
	var reason Reason
	why := ""
	switch {
	case l.disturbed != "":
		reason, why = Spoilt, l.disturbed
	case !e.HasInterval():
		reason, why = TooFew, "too few rounds for an interval"
	case math.IsNaN(sib.NoiseFloor):
		reason, why = Unfloored, "the probe has no noise floor to compare with"
	case sib.NoiseFloor > Margin:
		reason, why = WithinNoise, fmt.Sprintf("two identical runs differ by up to %s here: too noisy to tell",
			Percent(sib.NoiseFloor))
	}
	if why != "" {
		l.unbounded(why)
		l.decide(reason, in.assess(), kept, why)
		return l
	}
	l.bounded(1-e.Low, Measured,
		fmt.Sprintf(
			"with a scan on its sibling, a thread that takes locks kept at least %s of its rate; in this test, moving the "+
				"scan to another core gives back at most %s",
			Percent(max(0, e.Low)), Percent(max(0, 1-e.Low))))
	switch {
	case 1-e.High > sib.NoiseFloor && e.High < harmSibling:
		in.smtHarm(l, sib, other)
	case e.Low >= 1-Margin && e.High <= 1+Margin:
		l.decide(NoEffect, Next{}, "a scan on the sibling hardly slows a thread that takes locks: it kept "+
			short(sib)+" of its rate")
	case e.Contains(1):
		l.decide(IncludesOne, in.assess(), kept, "the 95 % confidence interval includes 1")
	default:
		l.cost = 1-e.High > sib.NoiseFloor
		l.effect = 1 - e.High
		l.says = fmt.Sprintf("a thread that takes locks keeps %s of its rate (%s) with a scan on its sibling", short(sib),
			Count(sib))
		l.decide(Slight, in.assess(),
			fmt.Sprintf("a scan on the sibling may slow threads that take locks, but perhaps by less than "+
				"the %s that counts as harm: they kept %s of their rate", Percent(1-harmSibling), short(sib)))
	}
	return l
}

func (in *input) smtHarm(l *draft, sib, other *result.Measurement) {
	l.cost, l.effect = true, 1-sib.Estimate.High
	l.says = fmt.Sprintf("a thread that takes locks keeps %s of its rate (%s) with a scan on its sibling", short(sib),
		Count(sib))
	reason, why := NoControl, ""
	switch {
	case !known(other) || !other.Estimate.HasInterval():
		why = "whether a scan on another core does the same was not measured"
	case other.Labels.Disturbed != "":
		reason, why = Spoilt, "the comparison with another core was disturbed: "+other.Labels.Disturbed
	case !(other.NoiseFloor <= Margin):
		reason, why = WithinNoise, "the comparison with another core is too noisy"
	case sib.Estimate.High/other.Estimate.Low >= harmRelative:
		reason, why = NoCause, "a scan on another core costs as much: the cause is shared memory or cache, not the sibling"
	default:
		next := remedy(l.todo).or(step("lscpu --extended=CPU,CORE,SOCKET",
			"shows the cores; pin scanning jobs to cores of their own with taskset -c"))
		l.decide(Costs, next,
			fmt.Sprintf("%s, and %s with the scan on another core: keep scans and log writers on different cores",
				l.says, short(other))+in.throughputs())
		return
	}
	l.decide(reason, in.assess(), l.says, why+in.throughputs())
}

// throughputs names what both threads got done in each place, since moving one
// of them trades the other's rate; "" where that was not measured.
func (in *input) throughputs() string {
	var parts []string
	for _, p := range []struct {
		scans, locks result.Kind
		where        string
	}{{probe.ScansSibling, probe.LocksSibling, "on the sibling"},
		{probe.ScansOther, probe.LocksOther, "on another core"}} {
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
