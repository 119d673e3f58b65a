package model

import (
	"cmp"
	"math"
)

// plan is how much of a case to simulate in each replication.
type plan struct {
	warmUp, steps int64
	// settle is the number of steps that it takes to forget the start. A warm-up is
	// shorter only when the events do not allow more.
	settle int64
}

// within shortens a plan to so many steps in all: first what is measured, to a third
// of them, then the warm-up. A long run warms up for a tenth of what it measures, since
// the precision that it is after bears less of the start.
func (p plan) within(most float64) plan {
	const least = 20
	p.warmUp = int64(min(float64(p.settle), max(least, most*2/3)))
	p.steps = int64(min(float64(p.steps), max(least, (most-float64(p.warmUp))*10/11)))
	p.warmUp = max(p.warmUp, p.steps/10)
	return p
}

// pilot is the first plan for cases that are compared. The warm-up lasts as long as
// everything in them takes to forget that it started empty and at its lowest
// frequency: a queue twice the relaxation time of M/M/c, S/(c(1-sqrt(load))^2) (Morse
// 1955), each policy its own time; and at least a second and a fifth of the steps. What
// is measured is no shorter than a policy's own time, so that its width tells how that
// of a longer run will be.
func pilot(valid []*run, o Options) plan {
	if len(valid) == 0 {
		return plan{}
	}
	c := valid[0].c
	w := c.Workload
	if w.Kind == Batch || w.Kind == Query {
		return plan{steps: 1}
	}
	seconds, events := 0.0, 0.0
	rate := stepRate(c)
	for _, r := range valid {
		seconds = max(seconds, r.g.settling(r.c.Machine))
		events = max(events, eventsPerStep(r, rate))
	}
	p := plan{steps: int64(o.Steps)}
	cpus := float64(c.Machine.CPUs())
	switch {
	case w.Open():
		gap := 1 - math.Sqrt(min(c.Load, 0.98))
		p.steps = cmp.Or(p.steps, int64(max(100, rate*max(1, seconds))))
		seconds = max(seconds, 1, 2*w.Slice.Mean/(cpus*gap*gap))
		p.settle = int64(max(20, rate*seconds, float64(p.steps)/5))
	default:
		p.steps = cmp.Or(p.steps, int64(max(200, 5*float64(w.Users), rate*seconds)))
		p.settle = int64(max(2*float64(w.Users), rate*seconds, float64(p.steps)/5))
	}
	if o.Steps > 0 {
		p.warmUp = p.settle
		return p
	}
	return p.within(float64(o.Events) / (float64(o.Replications) * events))
}

// stepRate is the steps in a second: of an open workload as they arrive, of a closed
// one at most, without any queueing.
func stepRate(c Case) float64 {
	w := c.Workload
	cpus := float64(c.Machine.CPUs())
	n := float64(max(1, w.Slices))
	if w.Open() {
		return c.Load * cpus / (n * w.Slice.Mean) // siblings only lower it
	}
	if w.Each != nil {
		rate := 0.0
		for _, u := range w.Each {
			if !u.Slice.IsZero() {
				rate += 1 / (u.Slice.Mean + u.Think.Mean)
			}
		}
		return rate
	}
	cycle := n*w.Slice.Mean + (n-1)*w.Wait.Mean + w.Think.Mean + w.Device.Mean
	return min(float64(w.Users)/cycle, cpus/(n*w.Slice.Mean))
}

// eventsPerStep is about how many events a step takes: its arrival, starts and ends
// of slices, and checks, which a CPU has while it is busy and after it changed, but
// not more often than its interval.
func eventsPerStep(r *run, rate float64) float64 {
	w := r.c.Workload
	slices := float64(max(1, w.Slices))
	events := 2*slices + 1
	if r.g.period > 0 {
		period := float64(r.g.period) / 1e9
		busy := slices * w.Slice.Mean * r.c.Machine.Nominal / r.c.Machine.PStates[r.g.floor]
		events += min(2*slices+busy/period, float64(r.c.Machine.CPUs())/(rate*period))
	}
	return events
}

// settling is how long a policy takes to come from its lowest frequency to where the
// load holds it, in s: several times the way through all of its states, since a load
// near a threshold goes back and forth.
func (g *governor) settling(m Machine) float64 {
	const ways = 2
	states := float64(g.top - g.floor)
	period := float64(g.period) / 1e9
	switch g.rule {
	case ruleWindows:
		up, down := states, states
		if g.incPol == stepRocket {
			up = 1
		}
		if g.decPol == stepRocket {
			down = 1
		}
		return ways * period * (1 + up*float64(g.incTime) + down*float64(g.decTime))
	case ruleOndemand:
		return ways * period * 2
	case ruleConservative:
		low, high := m.PStates[g.floor], m.PStates[g.top]
		return ways * period * (1 + (high-low)/(max(g.step, 0.001)*high))
	case ruleIntelPstate:
		return ways * period * 8 // each fall goes half of the way
	case ruleSchedutil:
		// Utilisation follows the slow clock of the lowest frequency.
		slow := m.PStates[len(m.PStates)-1] / m.PStates[g.floor]
		return ways * (5*slow*g.halfLife + float64(g.rateLimit)) / 1e9
	}
	return 0
}

// lengthen is the plan of a group for the precision asked for, as far as the events
// allow, and whether it is worth another run. The baseline of a comparison has a target
// too, though a looser one: its figures are printed, but the ratios are the answer.
func lengthen(group []*run, o Options) (plan, bool) {
	base := group[0]
	if base.err != nil || base.c.Workload.Kind == Batch || base.c.Workload.Kind == Query {
		return plan{}, false
	}
	const baselines = 5 // times the precision of ratios
	now := base.plan
	factor, most := 1.0, math.Inf(1)
	for i, r := range group {
		if r.err != nil {
			continue
		}
		total := float64(now.steps + now.warmUp)
		most = min(most, float64(o.Events)/float64(r.events)*total)
		e, precision := estimate(samples(r.reps, o.target), o.Level, ""), o.Precision
		switch {
		case i > 0:
			e = pairedRatio(samples(r.reps, o.target), samples(base.reps, o.target), o.Level)
		case o.ratios:
			continue
		case len(group) > 1:
			precision *= baselines
		}
		if h := halfWidth(e) / precision; h > 1 && !math.IsInf(h, 1) {
			// A tenth more, since the pilot's width is itself an estimate.
			factor = max(factor, 1.1*h*h)
		}
	}
	next := now
	next.steps = int64(min(1e15, float64(now.steps)*factor))
	next = next.within(most)
	longer := float64(next.steps) >= 1.2*float64(now.steps) ||
		now.warmUp < now.settle && float64(next.warmUp) >= 1.2*float64(now.warmUp)
	return next, longer
}
