package analysis

import (
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Uneven says that runs scatter more at one side than at the other, or that rare slow ones are at one side. The typical
// run and the mean may then tell different things, and so may the tail.
type Uneven struct {
	P     float64         `json:"p"`            // of equal scatter
	Mean  result.Estimate `json:"mean"`         // of the mean of all runs, on the scale of Effect.Value
	Base  result.Estimate `json:"baseline_p95"` // 95th percentile of the runs, in the response's unit; an end is NaN where they are too few
	Level result.Estimate `json:"level_p95"`
}

const unevenAlpha = 0.01

// Scatter reports whether it is scatter that differs by more than chance, and not shape alone.
func (u *Uneven) Scatter() bool { return u.P < unevenAlpha }

// uneven notes a scatter that differs by more than chance, or a mean that does: without a difference, sums and differences of pairs are not
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
	u := &Uneven{P: p}
	if !u.Scatter() && !e.Stalls {
		return
	}
	base := t.of(c.base)
	u.Base, u.Level = stats.QuantileInterval(base, 0.95, e.Alpha), stats.QuantileInterval(t.of(c.level), 0.95, e.Alpha)
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
