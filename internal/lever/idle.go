package lever

import (
	"cmp"
	"fmt"
	"math"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// burst is the length of work that an exit latency is set against: the shortest
// slice that the wake-up probe measures.
const burst = 0.010 // s

// deepLatency separates C1 and C1E, which keep the caches, from states that may
// not: intel_idle.c (6.12) has C1E at 10 us and the next states from 33 us on.
const deepLatency = 20e-6 // s

// l2Burst is what the cold-cache ratio is measured with: the dearest burst that
// fits the cache, not a typical one.
const l2Burst = "a %s burst that reads three quarters of the L2 cache"

// idle is moved by C-states. They cost in two ways: a thread wakes late, and
// caches may be cold. What work with memory loses after a sleep beyond what
// arithmetic loses is the second, not clock.
func (in *input) idle() Lever {
	l := in.new(check.Idle, "Idle states")
	family := in.known(probe.WakeCold)
	r, late, deep := decide(family), in.lateness(), in.deepest()
	l.take(r)
	if l.Measurement == nil || r.call != costs && late.costs() {
		l.Measurement = late.m
	}
	in.idleBound(&l, family, r, late, deep)
	in.beside(&l, r)
	switch {
	case r.call == costs || late.costs():
		in.idleCosts(&l, r, late, deep)
	case len(l.todo) > 0:
		why := ""
		if r.call == unmeasured && late.m == nil {
			why = in.whyUnmeasured("wakeup", probe.WakeCold)
		}
		in.rest(&l, why)
		l.add(late.full())
	case r.disturbed != "":
		l.decide(Unresolved, in.assess(), fmt.Sprintf("caches: %s. Other work ran here: %s", Figure(r.m), r.disturbed),
			"repeat when it is quiet")
	case r.call == small && late.slight():
		l.decide(NoEffect, Next{}, fmt.Sprintf("%s; after a pause, work with memory takes at most %s as long, beyond what "+
			"frequency costs%s",
			late.full(), result.Format(max(1, r.worst), "ratio"), in.while()))
	case r.call == undecided:
		l.decide(Unresolved, in.assess(), r.why(), late.full())
	case late.m != nil:
		in.lateOnly(&l, r, late)
	case r.call == small:
		l.why = "how late a thread wakes was not measured"
		l.decide(Unresolved, in.assess(), "caches stay warm over 100 ms of sleep", l.why)
	default:
		in.rest(&l, in.whyUnmeasured("wakeup", probe.WakeCold))
	}
	return l
}

// idleCosts is for what is lost beyond noise.
func (in *input) idleCosts(l *Lever, r reading, late lateness, deep *host.IdleState) {
	l.Cost, l.Disturbed = true, ""
	if r.call == costs {
		l.effect = saving(r.m.Estimate.Low)
		l.says = fmt.Sprintf("work with memory takes up to %s as long after a pause (%s)", short(r.m), Count(r.m))
		l.Summary = l.says + ", beyond what frequency costs"
		if loss := r.m.Labels.Loss; loss > 0 {
			l.Summary += ": up to " + result.Format(loss, "s") + " for each burst"
		}
		l.add(r.spread(), late.full())
	} else {
		l.effect = late.low / (burst + late.low)
		l.says, l.Summary = late.says(), late.full()
	}
	switch {
	case in.role == check.Development:
		l.Verdict = NotForRole
		l.add(saveEnergy)
	case deep == nil || deep.Latency.Or(0) <= deepLatency:
		l.Verdict = Unresolved
		l.why = "the cause of cold caches or late wake-ups is not known"
		l.add("no deep idle state is visible here, so the cause is not known")
		l.Next = cmp.Or(remedy(l.todo), in.askBelow())
	default:
		l.Verdict = Worthwhile
		l.Next = cmp.Or(remedy(l.todo), Next{Command: "hostlab facts"})
	}
}

// lateOnly is for a lateness that is neither slight nor beyond the margin.
func (in *input) lateOnly(l *Lever, r reading, late lateness) {
	next, caches := in.assess(), ""
	switch {
	case !late.complete:
		l.why = "the wake-up latency has no interval, or no control to compare with"
	case late.awake:
		l.why = "other work ran on the CPU in the pauses, so it was seldom in an idle state"
	case late.slight() && r.call == unmeasured:
		l.why = "whether caches go cold was not measured"
	default:
		l.why, next = "what late wake-ups cost depends on how often the work sleeps", in.askBelow()
	}
	if r.call == small {
		caches = "caches stay warm"
	}
	l.decide(Unresolved, next, late.full(), l.why, caches)
}

// askBelow is the next step where the states are chosen elsewhere.
func (in *input) askBelow() Next {
	if len(in.facts.Idle.States) > 0 {
		return Next{"hostlab facts", "names the idle states in use"}
	}
	return Next{Note: "ask the owner of the " + in.below() + " which idle states its CPUs may enter"}
}

// idleBound adds the lateness, measured or else as the kernel states it, to what
// cold caches cost at their worst.
func (in *input) idleBound(l *Lever, family []result.Measurement, r reading, late lateness, deep *host.IdleState) {
	wake, from, how := math.NaN(), BoundMeasured, ""
	stated := 0.0
	if deep != nil {
		stated = deep.Latency.Or(0)
	}
	switch {
	case late.complete:
		wake, how = max(0, late.high), fmt.Sprintf("a thread woke up to %s late", result.Format(max(0, late.high), "s"))
	case deep != nil:
		wake, from, how = stated, BoundCited, fmt.Sprintf("the kernel gives %s as the exit latency of %s, the deepest state in use",
			result.Format(stated, "s"), deep.Name.Or("it"))
	}
	l.BoundOf = "a 10 ms burst of work after a pause"
	switch {
	case math.IsNaN(wake):
		l.unbounded("how late a thread wakes was not measured, and no idle state with a latency is visible here")
	case r.call == unmeasured:
		l.bounded(wake/(wake+burst), from, how+"; this assumes one wake-up per 10 ms of work")
	case math.IsNaN(r.worst):
		l.unbounded("the cold-cache part was not measured well enough: " +
			cmp.Or(r.disturbed, r.why(), "a reference was still getting faster"))
	default:
		most, slice := -1.0, ""
		for i := range family {
			s := family[i].Labels.Slice
			if s <= 0 {
				s = burst
			}
			if share := 1 - s/(s*max(1, family[i].Estimate.High)+wake); share > most { // false for no interval
				most, slice = share, sliceWords(&family[i])
			}
		}
		if from == BoundCited {
			from = BoundComputed
		}
		l.BoundOf = fmt.Sprintf(l2Burst, slice)
		l.bounded(most, from, fmt.Sprintf("after a pause, work with memory took up to %s as long, beyond what arithmetic loses, and "+
			"%s; this includes other tenants that empty the caches",
			result.Format(max(1, r.worst), "ratio"), how))
	}
}

// deepest is the enabled idle state with the longest known exit latency within the
// limit in force (/dev/cpu_dma_latency).
func (in *input) deepest() *host.IdleState {
	var out *host.IdleState
	states := in.facts.Idle.States
	for i := range states {
		s := &states[i]
		lat, ok := s.Latency.Get()
		if limit, limited := in.facts.Idle.DMALatency.Get(); limited && lat > limit {
			continue
		}
		if ok && len(s.Disabled) < len(s.CPUs) && (out == nil || lat > out.Latency.Value) {
			out = s
		}
	}
	return out
}
