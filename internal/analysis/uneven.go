package analysis

import (
	"math"

	"hostlab/internal/stats"
)

const unevenAlpha = 0.01

// Uneven reports whether the two sides scatter unequally, or stall: then Mean and P95 of the sides are worth a look.
func (e *Effect) Uneven() bool { return e.Base.P95.N > 0 }

// Unequal reports whether it is scatter that differs by more than chance, and not shape alone.
func (e *Effect) Unequal() bool { return e.Uneven() && e.Scatter < unevenAlpha }

// uneven notes a scatter that differs by more than chance, or a mean that does: without a difference, sums and
// differences of pairs are not correlated (Pitman 1939), whatever a block adds to both. The typical run and the mean
// may then tell different things, and so may the tail.
func (j *judge) uneven(e *Effect, t *table, c comparison) {
	if len(c.level) != 1 || len(c.base) != 1 || len(e.Differences) != len(t.rows) || e.Adjusted != nil {
		return
	}
	sums := make([]float64, len(t.rows))
	for i := range sums {
		sums[i] = t.row(i)[c.level[0]] + t.row(i)[c.base[0]]
	}
	p := stats.Related(e.Differences, sums, j.record.x.Design.Seed)
	if !(p < unevenAlpha) && !e.Stalls {
		return
	}
	// In the response's unit: the mean of logarithms is no mean of runs.
	d, by, base := make([]float64, len(t.rows)), 1.0, t.of(c.base)
	for i := range d {
		d[i] = t.level(t.row(i)[c.level[0]]) - t.level(t.row(i)[c.base[0]])
	}
	if t.ratio() {
		by = stats.Mean(base)
	}
	mean := stats.PairedT(d, e.Alpha).Map(func(v float64) float64 { return v / by })
	if math.IsNaN(mean.Value) {
		return
	}
	e.Mean, e.Scatter = mean, p
	e.Base.P95, e.Level.P95 = stats.QuantileInterval(base, 0.95, e.Alpha),
		stats.QuantileInterval(t.of(c.level), 0.95, e.Alpha)
}
