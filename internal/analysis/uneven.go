package analysis

import (
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Uneven says that runs scatter more at one side than at the other. The typical run and the mean may then tell different
// things, and so may the tail.
type Uneven struct {
	P           float64         // of equal scatter
	Base, Level float64         // 95th percentiles, in the response's unit
	Mean        result.Estimate // of the mean of all runs, on the scale of Effect.Value
}

const unevenAlpha = 0.01

// uneven notes a scatter that differs by more than chance: without a difference, sums and differences of pairs are not
// correlated (Pitman 1939), whatever a block adds to both.
func (j *judge) uneven(e *Effect, t *table, c comparison) {
	if len(c.level) != 1 || len(c.base) != 1 || len(e.Differences) != len(t.rows) || e.Adjusted != nil {
		return
	}
	sums := make([]float64, len(t.rows))
	for i := range sums {
		sums[i] = t.row(i)[c.level[0]] + t.row(i)[c.base[0]]
	}
	_, _, p := stats.Related(e.Differences, [][]float64{sums}, j.record.x.Design.Seed)
	if !(p < unevenAlpha) {
		return
	}
	base, level := t.of(c.base), t.of(c.level)
	u := &Uneven{P: p, Base: stats.Quantile(base, 0.95), Level: stats.Quantile(level, 0.95)}
	// In the response's unit: the mean of logarithms is no mean of runs.
	d, by := make([]float64, len(t.rows)), 1.0
	for i := range d {
		d[i] = t.level(t.row(i)[c.level[0]]) - t.level(t.row(i)[c.base[0]])
	}
	if t.ratio() {
		by = stats.Mean(base)
	}
	u.Mean = stats.PairedT(d, e.Alpha).Map(func(v float64) float64 { return v / by })
	if !math.IsNaN(u.Mean.Value) {
		e.Uneven = u
	}
}
