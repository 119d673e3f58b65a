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
func (in *input) idle() *draft {
	l := in.new(Idle)
	family := in.known(probe.WakeCold)
	r, late, deep := decide(family), in.lateness(), in.deepest()
	l.take(r)
	if l.measurement == nil || r.reason != Costs && late.costs() {
		l.measurement = late.m
	}
	in.idleBound(l, family, r, late, deep)
	in.beside(l, r)
	switch {
	case r.reason == Costs || late.costs():
		in.idleCosts(l, r, late, deep)
	case len(l.todo) > 0:
		why := ""
		if r.reason == "" && late.m == nil {
			why = in.whyUnmeasured("wakeup", probe.WakeCold)
		}
		in.rest(l, why)
		l.add(late.full())
	case r.disturbed != "":
		l.decide(Spoilt, in.assess(), fmt.Sprintf("caches: %s. Other work ran here: %s", Figure(r.m), r.disturbed),
			"repeat when it is quiet")
	case r.reason == NoEffect && late.slight():
		l.decide(NoEffect, Next{}, fmt.Sprintf("%s; after a pause, work with memory takes at most %s as long, beyond what "+
			"frequency costs%s",
			late.full(), result.Format(max(1, r.worst), "ratio"), in.while()))
	case r.reason.open():
		l.decide(r.reason, in.assess(), r.why(), late.full())
	case late.m != nil:
		in.lateOnly(l, r, late)
	case r.reason == NoEffect:
		l.decide(NoControl, in.assess(), "caches stay warm over 100 ms of sleep", "how late a thread wakes was not measured")
	default:
		in.rest(l, in.whyUnmeasured("wakeup", probe.WakeCold))
	}
	return l
}

// idleCosts is for what is lost beyond noise.
func (in *input) idleCosts(l *draft, r reading, late lateness, deep *host.IdleState) {
	l.cost, l.disturbed = true, ""
	if r.reason == Costs {
		l.effect = saving(r.m.Estimate.Low)
		l.says = fmt.Sprintf("work with memory takes up to %s as long after a pause (%s)", short(r.m), Count(r.m))
		l.text = l.says + ", beyond what frequency costs"
		if loss := r.m.Labels.Loss; loss > 0 {
			l.text += ": up to " + result.Format(loss, "s") + " for each burst"
		}
		l.add(r.spread(), late.full())
	} else {
		l.effect = late.low / (burst + late.low)
		l.says, l.text = late.says(), late.full()
	}
	switch {
	case in.role == check.Development:
		l.reason = OtherRole
		l.add(saveEnergy)
	case deep == nil || deep.Latency.Or(0) <= deepLatency:
		l.reason = NoCause
		l.add("no deep idle state is visible here, so the cause is not known")
		l.next = remedy(l.todo).or(in.askBelow())
	default:
		l.reason = Costs
		l.next = remedy(l.todo).or(in.askBelow())
	}
}

// lateOnly is for a lateness that is neither slight nor beyond the margin.
func (in *input) lateOnly(l *draft, r reading, late lateness) {
	reason, next, why, caches := NoControl, in.assess(), "", ""
	switch {
	case !late.complete:
		why = "the wake-up latency has no interval, or no control to compare with"
	case late.awake:
		reason, why = Diluted, "other work ran on the CPU in the pauses, so it was seldom in an idle state"
	case late.slight() && r.reason == "":
		why = "whether caches go cold was not measured"
	default:
		reason, why, next = OfJob, "what late wake-ups cost depends on how often the work sleeps", in.askBelow()
	}
	if r.reason == NoEffect {
		caches = "caches stay warm"
	}
	l.decide(reason, next, late.full(), why, caches)
}

// askBelow is the next step where the states are chosen elsewhere.
func (in *input) askBelow() Next {
	if len(in.facts.Idle.States) > 0 {
		return step("hostlab watch", "shows how long the CPUs are in which idle state")
	}
	return Next{Note: "ask the owner of the " + in.below() + " which idle states its CPUs may enter"}
}

// idleBound adds the lateness, measured or else as the kernel states it, to what
// cold caches cost at their worst.
func (in *input) idleBound(l *draft, family []result.Measurement, r reading, late lateness, deep *host.IdleState) {
	wake, from, how := math.NaN(), Measured, ""
	stated := 0.0
	if deep != nil {
		stated = deep.Latency.Or(0)
	}
	switch {
	case late.complete:
		wake, how = max(0, late.high), fmt.Sprintf("a thread woke up to %s late", result.Format(max(0, late.high), "s"))
	case deep != nil:
		wake, from, how = stated, Cited,
			fmt.Sprintf("the kernel gives %s as the exit latency of %s, the deepest state in use",
				result.Format(stated, "s"), deep.Name.Or("it"))
	}
	l.bound.Of = "a 10 ms burst of work after a pause"
	switch {
	case math.IsNaN(wake):
		l.unbounded("how late a thread wakes was not measured, and no idle state with a latency is visible here")
	case r.reason == "":
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
		if from == Cited {
			from = Computed
		}
		l.bound.Of = fmt.Sprintf(l2Burst, slice)
		l.bounded(most, from,
			fmt.Sprintf("after a pause, work with memory took up to %s as long, beyond what arithmetic loses, and "+
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
