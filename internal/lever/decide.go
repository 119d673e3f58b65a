package lever

import (
	"cmp"
	"math"

	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// reading is what a family of ratios says, and the measurement that decides it.
type reading struct {
	reason    Reason                // "": nothing was measured
	cost      bool                  // an interval lies beyond its noise floor, though perhaps under the margin
	m         *result.Measurement   // the decisive one; nil when unmeasured
	worst     float64               // the upper end of the loss, as a ratio; NaN where there is none that can be relied on
	here      bool                  // worst holds with others at work as they were, not after pauses of an idle CPU
	awake     *result.Measurement   // the member in most of whose pauses others had the CPU; nil: none
	show      []*result.Measurement // beyond their noise floors
	silent    []*result.Measurement // not beyond
	ramping   bool                  // a reference was still getting faster: ratios are too low
	disturbed string                // what disturbed a member, "" for nothing
}

// summary is a family before it is judged.
type summary struct {
	reading
	top, below, dearest *result.Measurement // the largest value of all; one certainly below 1; the greatest certain cost
	after               float64             // the upper end after pauses of an idle CPU
	loud                bool                // an interval reaches beyond the margin, or may
	unfloored           bool                // a noise floor is unknown
	big                 bool                // a cost lies beyond the margin
	theirs              bool                // others' work may explain what looks like a cost
}

// rules are tried in order: the first that holds gives the reason, and the measurement that decides.
var rules = []struct {
	reason Reason
	when   func(*summary) bool
	by     func(*summary) *result.Measurement
}{
	{Costs, func(s *summary) bool { return s.big }, dearest},
	{Spoilt, func(s *summary) bool { return s.disturbed != "" }, top},
	{NoEffect, func(s *summary) bool { return !s.loud && !s.ramping && s.below == nil }, top},
	{Inverted, func(s *summary) bool { return s.below != nil }, func(s *summary) *result.Measurement { return s.below }},
	{Slight, func(s *summary) bool { return len(s.show) > 0 }, dearest},
	{TooFew, func(s *summary) bool { return math.IsNaN(s.worst) }, top},
	{Evicted, func(s *summary) bool {
		return s.awake != nil && s.awake.Kind == probe.WakeCold && s.worst-1 > Margin
	}, top},
	{Unfloored, func(s *summary) bool { return s.unfloored }, top},
	{Rising, func(s *summary) bool { return s.ramping }, top},
	{Diluted, func(s *summary) bool { return s.awake != nil && (s.worst-1 < Margin || s.theirs) }, top},
	{WithinNoise, func(s *summary) bool { return s.top.Estimate.HasInterval() && s.top.Estimate.Low > 1 }, top},
	{IncludesOne, func(*summary) bool { return true }, top},
}

func top(s *summary) *result.Measurement     { return s.top }
func dearest(s *summary) *result.Measurement { return s.dearest }

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
	s := &summary{reading: reading{worst: math.NaN()}, after: math.NaN()}
	if len(family) == 0 {
		return s.reading
	}
	for i := range family {
		s.add(&family[i])
	}
	for _, rule := range rules {
		if rule.when(s) {
			s.reason, s.m = rule.reason, rule.by(s)
			break
		}
	}
	s.cost = s.reason == Costs || s.reason == Slight
	// Where pauses of an idle CPU were too few for a bound that says something, the one that
	// holds beside the others' work is said, as such.
	if s.here = saving(s.after) >= 2*Margin && s.after > s.worst; !s.here {
		s.worst = s.after
	}
	if s.disturbed != "" || s.ramping || s.below != nil {
		s.worst = math.NaN() // what was seen is no upper end then
	}
	return s.reading
}

// add takes a member in.
func (s *summary) add(m *result.Measurement) {
	e := m.Estimate
	if s.top == nil || e.Value > s.top.Estimate.Value {
		s.top = m
	}
	if d := m.Labels.Disturbed; d != "" {
		s.disturbed = cmp.Or(s.disturbed, d)
		return
	}
	s.ramping = s.ramping || m.Labels.Ramping
	s.unfloored = s.unfloored || math.IsNaN(m.NoiseFloor)
	s.loud = s.loud || !(m.NoiseFloor <= Margin)
	if !e.HasInterval() {
		s.loud = true
		return
	}
	greater := func(now, v float64) float64 {
		if math.IsNaN(now) || v > now {
			return v
		}
		return now
	}
	high := idleHigh(m)
	s.worst, s.after = greater(s.worst, e.High), greater(s.after, high)
	s.loud = s.loud || !(high-1 < Margin)
	if m.Labels.Awake > 0 && (s.awake == nil || m.Labels.Awake > s.awake.Labels.Awake) {
		s.awake = m
	}
	if e.Low < 1-Margin && e.High < 1-m.NoiseFloor { // false for a NaN floor
		s.below = m
	}
	if beyond := e.Low-1 > m.NoiseFloor; others(m) || !beyond {
		s.theirs = s.theirs || beyond
		s.silent = append(s.silent, m)
		return
	}
	s.show = append(s.show, m)
	s.big = s.big || e.Low-1 > Margin
	if s.dearest == nil || e.Low > s.dearest.Estimate.Low {
		s.dearest = m
	}
}

// others reports a ratio that others' work in the pauses may explain: they empty caches; and where hardly any pause was
// idle, no pause is what made a difference. On a host at 90 %, arithmetic took 8 % longer after pauses that others had
// all of, and as long as before in the next minute.
func others(m *result.Measurement) bool {
	return m.Labels.Awake > 0 &&
		(m.Kind == probe.WakeCold || m.Estimate.N-m.Labels.Awake < stats.MinBlocks(1-confidence))
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
