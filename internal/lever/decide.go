package lever

import (
	"math"

	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Margin is the practical margin: a change of less than 5 % is not worth
// touching a platform for on the strength of a one-minute probe. An effect
// must reach it, and its noise floor must stay under it before "no effect" is
// said, because a probe that noisy could not have seen one.
const Margin = 0.05

// call is what a family of ratios allows to be said.
type call int

const (
	unmeasured call = iota
	undecided
	small
	costs
)

// doubt is why a family is undecided.
type doubt int

const (
	decided     doubt = iota
	spoilt            // by others
	evicted           // others may have emptied the caches meanwhile
	inverted          // after the pause: the measurement is broken, or the CPU was throttled in the busy stretch
	slightly          // the cost may be less than the margin
	tooFew            // rounds for an interval
	unfloored         // there is no noise floor
	rising            // clock of the reference
	withinNoise       // as large as the cost
	includesOne       // none: the interval includes 1
	diluted           // others had the CPU in pauses, so that a cost may be larger than it looks
)

// reading is a call with the measurement that decides it.
type reading struct {
	call      call
	cost      bool                  // an interval lies beyond its noise floor, though perhaps under the margin
	m         *result.Measurement   // the decisive one; nil when unmeasured
	worst     float64               // the upper end of the loss, as a ratio; NaN where there is none that can be relied on
	here      bool                  // worst holds with others at work as they were, not after pauses of an idle CPU
	awake     *result.Measurement   // the member in most of whose pauses others had the CPU; nil: none
	show      []*result.Measurement // beyond their noise floors
	silent    []*result.Measurement // not beyond
	ramping   bool                  // a reference was still getting faster: ratios are too low
	disturbed string                // what disturbed a member, "" for nothing
	doubt     doubt                 // of undecided
}

// decide reads a family of ratios in which more than 1 is a cost.
//
// One member is enough for a cost. That does not find costs by luck: a member
// must clear its noise floor and the margin, and a 95 % interval does so by
// chance far more rarely than it excludes 1 (see TestNullHosts). A ratio
// without a noise floor, or one that was disturbed, never counts as a cost, and
// a family with such a member is never called small.
//
// Others that keep a CPU awake in pauses hide what a pause costs, so that a cost is at least
// what was seen. They may empty caches too: then work with memory shows no cost.
func decide(family []result.Measurement) reading {
	r := reading{worst: math.NaN()}
	if len(family) == 0 {
		return r
	}
	r.call = undecided
	quiet, floored, big := true, true, false // every interval within the margin; every floor known; a cost beyond the margin
	after := math.NaN()                      // the upper end after pauses of an idle CPU
	var top, below *result.Measurement       // the largest value of all; one that is certainly below 1
	for i := range family {
		m := &family[i]
		e := m.Estimate
		if top == nil || e.Value > top.Estimate.Value {
			top = m
		}
		if d := m.Labels.Disturbed; d != "" {
			if r.disturbed == "" {
				r.disturbed = d
			}
			continue
		}
		r.ramping = r.ramping || m.Labels.Ramping
		if math.IsNaN(m.NoiseFloor) {
			floored, quiet = false, false
		} else if m.NoiseFloor > Margin {
			quiet = false
		}
		if !e.HasInterval() {
			quiet = false
			continue
		}
		if math.IsNaN(r.worst) || e.High > r.worst {
			r.worst = e.High
		}
		high := idleHigh(m)
		if math.IsNaN(after) || high > after {
			after = high
		}
		if m.Labels.Awake > 0 && (r.awake == nil || m.Labels.Awake > r.awake.Labels.Awake) {
			r.awake = m
		}
		quiet = quiet && high-1 < Margin
		if e.Low < 1-Margin && e.High < 1-m.NoiseFloor { // false for a NaN floor
			below = m
		}
		if m.Labels.Awake > 0 && m.Kind == probe.WakeCold {
			r.silent = append(r.silent, m)
		} else if e.Low-1 > m.NoiseFloor {
			r.show = append(r.show, m)
			big = big || e.Low-1 > Margin
			if r.m == nil || e.Low > r.m.Estimate.Low {
				r.m = m
			}
		} else {
			r.silent = append(r.silent, m)
		}
	}
	if r.disturbed != "" || r.ramping || below != nil {
		quiet = false
	}
	switch {
	case big:
		r.call, r.cost = costs, true
	case r.disturbed != "":
		r.m, r.doubt = top, spoilt
	case quiet:
		r.call, r.m = small, top
	case below != nil:
		r.m, r.doubt = below, inverted
	case len(r.show) > 0:
		r.cost, r.doubt = true, slightly
	case math.IsNaN(r.worst):
		r.m, r.doubt = top, tooFew
	case r.awake != nil && r.awake.Kind == probe.WakeCold && r.worst-1 > Margin:
		r.m, r.doubt = top, evicted
	case !floored:
		r.m, r.doubt = top, unfloored
	case r.ramping:
		r.m, r.doubt = top, rising
	case r.awake != nil && r.worst-1 < Margin:
		r.m, r.doubt = top, diluted
	case top.Estimate.HasInterval() && top.Estimate.Low > 1:
		r.m, r.doubt = top, withinNoise
	default:
		r.m, r.doubt = top, includesOne
	}
	// Where pauses of an idle CPU were too few for a bound that says something, the one that
	// holds beside the others' work is said, as such.
	if r.here = saving(after) >= 2*Margin && after > r.worst; !r.here {
		r.worst = after
	}
	if r.disturbed != "" || r.ramping || below != nil {
		r.worst = math.NaN() // what was seen is no upper end then
	}
	return r
}

// idleHigh is the upper end of a ratio after pauses of an idle CPU: an excess that shows in a
// share q of the pauses is as much larger in those. q is taken at its lower 95 % limit
// (Clopper and Pearson), so that both hold together in 95 % from above.
func idleHigh(m *result.Measurement) float64 {
	e := m.Estimate
	if m.Labels.Awake == 0 {
		return e.High
	}
	q, _ := stats.Share(max(0, e.N-m.Labels.Awake), e.N, 1-confidence)
	if q == 0 {
		return math.Inf(1)
	}
	return 1 + max(0, e.High-1)/q
}

// confidence is that of the probes' intervals.
const confidence = 0.95

// inverse turns a ratio in which less than 1 is a cost into one in which more
// is. Its floor is moved with it.
func inverse(m result.Measurement) result.Measurement {
	if m.Estimate == nil {
		return m
	}
	e := *m.Estimate
	e.Value, e.Low, e.High = 1/e.Value, 1/e.High, 1/e.Low
	if m.NoiseFloor >= 1 {
		m.NoiseFloor = math.Inf(1)
	} else if !math.IsNaN(m.NoiseFloor) {
		m.NoiseFloor = 1/(1-m.NoiseFloor) - 1
	}
	m.Estimate = &e
	return m
}

// saving is the share of time that goes away when a ratio falls to 1.
func saving(ratio float64) float64 { return max(0, 1-1/ratio) }
