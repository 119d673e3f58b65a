package lever

import (
	"fmt"
	"math"

	"hostlab/internal/result"
)

// Margin is the practical margin: a change of less than 5 % is not worth
// touching a platform for on the strength of a one-minute probe. An effect
// must reach it, and its noise floor must stay under it before "no effect" is
// said, because a probe that noisy could not have seen one.
const Margin = 0.05

// falseAlarm is the chance that a family of comparisons, none with an effect,
// is called a cost. Each interval is two-sided 95 %, so it lies wholly on the
// bad side by chance in 2.5 % of cases.
const (
	falseAlarm = 0.05
	oneSided   = 0.025
)

// call is what a family of ratios allows to be said.
type call int

const (
	unmeasured call = iota
	undecided
	small
	costs
)

// reading is a call with the measurement that decides it.
type reading struct {
	call       call
	m          *result.Measurement // the decisive one; nil when unmeasured
	worst      float64             // the upper end of the loss, as a ratio >= 1; NaN: no interval anywhere
	beyond, of int                 // comparisons beyond their noise floor, of how many
	why        string              // of undecided: a clause
}

// decide reads a family of ratios in which more than 1 is a cost.
//
// Looking for the worst of many intervals finds one that excludes 1 by luck, so
// as many of them must exclude it as luck alone would reach in fewer than 5 % of
// hosts (binomial tail). A ratio without a noise floor never counts as a cost.
func decide(family []result.Measurement) reading {
	r := reading{worst: math.NaN(), of: len(family)}
	if len(family) == 0 {
		return r
	}
	r.call = undecided
	quiet, floored := true, true // every interval within the margin; every floor known
	var top *result.Measurement  // the largest value of all
	for i := range family {
		m := &family[i]
		e := m.Estimate
		if top == nil || e.Value > top.Estimate.Value {
			top = m
		}
		if math.IsNaN(m.NoiseFloor) || m.NoiseFloor > Margin {
			quiet = false
		}
		if math.IsNaN(m.NoiseFloor) {
			floored = false
		}
		if !e.HasInterval() {
			quiet = false
			continue
		}
		if math.IsNaN(r.worst) || e.High > r.worst {
			r.worst = e.High
		}
		if e.High-1 >= Margin {
			quiet = false
		}
		if e.Low-1 > m.NoiseFloor { // false for a NaN floor
			r.beyond++
			if r.m == nil || e.Low > r.m.Estimate.Low {
				r.m = m
			}
		}
	}
	switch {
	case quiet:
		r.call, r.m = small, top
	case r.beyond >= needed(r.of) && r.m.Estimate.Low-1 >= Margin:
		r.call = costs
	case r.beyond >= needed(r.of):
		r.why = fmt.Sprintf("there is a cost, but it may be less than %.0f %%", 100*Margin)
	case r.beyond > 0:
		r.m = top
		r.why = fmt.Sprintf("only %d of %d comparisons show a cost, which may be chance", r.beyond, r.of)
	case math.IsNaN(r.worst):
		r.m, r.why = top, "too few rounds for an interval"
	case !floored:
		r.m, r.why = top, "the probe has no noise floor to compare with"
	case top.Estimate.HasInterval() && top.Estimate.Low > 1:
		r.m, r.why = top, "the cost is not larger than this host's noise"
	default:
		r.m, r.why = top, "the interval includes no effect"
	}
	return r
}

// needed is the smallest count that k comparisons without effect reach by
// chance in at most falseAlarm of cases.
func needed(k int) int {
	tail, p := 1.0, math.Pow(1-oneSided, float64(k)) // p = P(exactly r)
	for r := 0; r <= k; r++ {
		if tail <= falseAlarm && r > 0 {
			return r
		}
		tail -= p
		p *= float64(k-r) / float64(r+1) * oneSided / (1 - oneSided)
	}
	return k + 1
}

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
func saving(ratio float64) *float64 {
	if math.IsNaN(ratio) {
		return nil
	}
	b := max(0, 1-1/ratio)
	return &b
}
