package probe

import (
	"fmt"
	"math"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// pairRun is what was measured of one pair so far.
type pairRun struct {
	pair
	reported bool
	samples  []*pairSample
	company  company
	quietest *pairSet // of complete sets
	repeats  int
	gone     string // why a CPU of it cannot be measured
	signal   PairSignal
	relation Relation
}

// pairSample is one round. Slots: 0 A alone, 1 B alone, 2 A beside B, 3 B beside A.
type pairSample struct {
	Side     map[string]*[4]side
	Again    float64 // A alone at the integer ports, once more
	PingPong float64
}

func (p *pairRun) medians(kind string, slot int) []float64 {
	return column(p.samples, func(s *pairSample) float64 { return s.Side[kind][slot].Median })
}

// wall is the elapsed time of a control cell's slots, without what its threads
// waited for others of this system where that is known.
func (p *pairRun) wall(slots ...int) (times []float64, raw bool) {
	times = column(p.samples, func(s *pairSample) float64 {
		longest := 0.0
		for _, slot := range slots {
			side := s.Side[cellControl][slot]
			if !side.HasWaited {
				raw = true
			}
			longest = max(longest, side.Wall-side.Waited)
		}
		return longest
	})
	return times, raw
}

// measure turns the samples into signals; classify adds the ping-pong's rank.
func (p *pairRun) measure(alpha float64) {
	slowdowns := func(kind string) (iv [2]result.Estimate) {
		for i := range iv {
			iv[i] = stats.PairedRatio(p.medians(kind, i+2), p.medians(kind, i), alpha)
		}
		return iv
	}
	s := PairSignal{ALU: slowdowns(cellALU), FMA: slowdowns(cellFMA), Control: slowdowns(cellControl),
		PingPong: math.NaN()}
	for i := range 2 {
		alone, beside := p.medians(cellALU, i), p.medians(cellALU, i+2)
		for k := range alone {
			s.Most = max(s.Most, beside[k]/alone[k])
		}
	}
	together, raw := p.wall(2, 3)
	alone, rawAlone := p.wall(0, 1)
	s.Wall, s.WallRaw = stats.PairedRatio(together, alone, alpha), raw || rawAlone
	if pp := p.pingPongs(); len(pp) > 0 {
		s.PingPong = stats.Median(pp)
	}
	p.signal = s
}

// pingPongs are the rounds' times in seconds, without those that were too slow.
func (p *pairRun) pingPongs() []float64 {
	var out []float64
	for _, s := range p.samples {
		if s.PingPong > 0 {
			out = append(out, s.PingPong)
		}
	}
	return out
}

// classify decides every pair from what is there; the ping-pong is judged among
// all of them.
func (r *siblingsRun) classify() {
	times := make([]float64, len(r.pairs))
	for i, p := range r.pairs {
		p.measure(r.alpha)
		p.signal.Foreign = p.company.share()
		times[i] = p.signal.PingPong
	}
	for i, near := range nearness(times) {
		p := r.pairs[i]
		p.signal.Near, p.signal.Reported = near, p.reported
		p.relation = Classify(p.signal)
		if p.gone != "" {
			p.relation = UnknownPair
		}
	}
}

// pairResults are the relations and their numbers.
func (r *siblingsRun) pairResults() ([]PairResult, []result.Measurement) {
	var pairs []PairResult
	var out []result.Measurement
	for _, p := range r.pairs {
		res := PairResult{A: p.A, B: p.B, Reported: r.reported[p.pair], Relation: p.relation, Reason: p.signal.describe()}
		if p.gone != "" {
			res.Reason = p.gone
		} else if why := p.contaminated(); why != "" {
			res.Reason = why + "; " + res.Reason
		}
		slow, line := p.slowdown(r.alpha), p.latency(r.alpha)
		res.SlowDown, res.PingPong = withUnit(slow), withUnit(line)
		pairs, out = append(pairs, res), append(out, slow, line)
	}
	return pairs, out
}

// withUnit returns a measurement's estimate by itself.
func withUnit(m result.Measurement) result.Estimate {
	if !m.Known() {
		return result.Unknown()
	}
	e := *m.Estimate
	e.Unit = m.Unit
	return e
}

// contaminated says what others did, where it was too much every time.
func (p *pairRun) contaminated() string {
	if share := p.company.share(); share > crowded {
		return fmt.Sprintf("other work took %.0f %% of these CPUs at the quietest of %s", 100*share,
			screen.Count(p.repeats+1, "attempt"))
	}
	return ""
}

// slowdown is how much two CPUs slow each other at the integer ports: the
// geometric mean of both directions, within rounds.
func (p *pairRun) slowdown(alpha float64) result.Measurement {
	m := p.measurement(SlowDown, "ratio", fmt.Sprintf("integer work on CPU %d and CPU %d at the same time, against alone",
		p.A, p.B))
	both := func(x, y []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = math.Sqrt(x[i] * y[i])
		}
		return out
	}
	if p.gone != "" || len(p.samples) == 0 {
		m.Reason = p.whyNone()
		return m
	}
	m.Labels.Kernel = cellALU
	p.mark(&m)
	alone, beside := both(p.medians(cellALU, 0), p.medians(cellALU, 1)), both(p.medians(cellALU, 2), p.medians(cellALU, 3))
	m.Estimate = ratio(beside, alone, alpha)
	m.NoiseFloor = floor(column(p.samples, func(s *pairSample) float64 { return s.Again }), p.medians(cellALU, 0), alpha)
	if !m.Estimate.HasInterval() {
		m.Warnings = append(m.Warnings, tooFew(m.Estimate.N, alpha))
	}
	return m
}

// latency is the time of a cache line from one CPU to the other.
func (p *pairRun) latency(alpha float64) result.Measurement {
	m := p.measurement(PingPong, "s", fmt.Sprintf("a cache line from CPU %d to CPU %d, one way", p.A, p.B))
	pp := p.pingPongs()
	switch {
	case p.gone != "" || len(p.samples) == 0:
		m.Reason = p.whyNone()
	case len(pp) == 0:
		m.Reason = "the two threads hardly ever ran at the same time"
	default:
		m.Estimate = medianOf(pp, alpha)
		p.mark(&m)
		if stats.Quantile(pp, 0.9) > 1.5*stats.Quantile(pp, 0.1) {
			m.Warnings = append(m.Warnings,
				"it moved by more than half between rounds: a hypervisor may be moving this guest's CPUs")
		}
	}
	return m
}

// mark labels a measurement that others disturbed.
func (p *pairRun) mark(m *result.Measurement) {
	if why := p.contaminated(); why != "" {
		m.Labels.Disturbed = why
		m.Warnings = append(m.Warnings, why)
	}
}

func (p *pairRun) whyNone() string {
	if p.gone != "" {
		return p.gone
	}
	return "no round was completed in the time allowed"
}

func (p *pairRun) measurement(kind result.Kind, unit, title string) result.Measurement {
	return blank(kind, fmt.Sprintf(".cpu%d-cpu%d", p.A, p.B), title, unit,
		result.Labels{CPUA: new(p.A), CPUB: new(p.B), Relation: string(p.relation)})
}
