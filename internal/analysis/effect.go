package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// judge is what all effects of an analysis have in common.
type judge struct {
	record             *record
	judged             bool // a look was reached
	spent              bool // its time ended it: what was planned behind that never runs
	firstLook          int
	primary, secondary float64 // alpha of one interval
	single, last       float64 // alpha of a primary one if this look were the only one, and at the last look
	seconds            float64 // of a block; NaN: not known
	rows               []int   // blocks that are judged
}

// unknown is an effect that cannot be had.
func unknown(e Effect, why error) Effect {
	e.Figure, e.Base, e.Level = noFigure(), noFigure(), noFigure()
	e.Scatter, e.NoiseFloor, e.Finds = math.NaN(), math.NaN(), math.NaN()
	e.Verdict, e.Reason = Inconclusive, Reason{Kind: Damaged, Text: why.Error()}
	return e
}

// noFigure is one of which nothing is known.
func noFigure() Figure {
	none := result.Unknown()
	return Figure{none, none, none, none}
}

// side is the median of some cells.
func (t *table) side(cells []int) Figure {
	f := noFigure()
	if f.Value = t.median(cells); !math.IsNaN(f.Value) {
		f.N = len(t.of(cells))
	}
	return f
}

// effect estimates contrast c in the response of t, whose noise floor is known or NaN.
func (j *judge) effect(e Effect, c comparison, t *table, floor float64) Effect {
	t = t.on(c)
	e.Response = t.response
	e.Alpha = j.secondary
	if e.Primary() {
		e.Alpha = j.primary
	}
	d, ordered, lost := j.differences(c, t)
	e.Differences, e.N, e.Unit = d, len(d), c.unit
	if lost > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %d %s left out: %s has no value in some run", lost, lost+len(d),
			c.unit, t.response.Name))
	}
	iv, mean := j.interval(d, ordered, e.Alpha)
	if ordered != nil {
		e.Adjusted = ordered.adjusted
	}
	e.Student = ordered == nil && Student(j.record.x, len(d), e.Alpha)
	e.Estimate, e.Mean = t.estimate(iv), t.estimate(mean)
	e.Held, e.P95, e.Scatter = result.Unknown(), result.Unknown(), math.NaN()
	e.Base, e.Level = t.side(c.base), t.side(c.level)
	e.Stalls = disagree(t.scale, iv, mean)
	e.NoiseFloor = floor
	j.verdict(&e, t, iv, c)
	j.limit(&e, t, iv, c)
	if e.Need > e.N {
		e.NeedSeconds = float64(e.Need-e.N) * j.seconds
	}
	e.Finds = math.NaN()
	if spread := stats.Spread(d); e.Primary() && spread > 0 && !e.Student {
		planned, alpha := j.record.x.Planned(), j.last
		if j.spent {
			planned, alpha = len(t.rows), j.primary
		}
		e.Planned = len(d) * planned / len(t.rows)
		e.Finds = t.effect(t.margin() + stats.Detectable(spread, e.Planned, alpha, power))
	}
	return e
}

// interval returns the estimate with its interval and the paired-t one beside it. b is what a comparison by random
// order is made of, nil for others.
func (j *judge) interval(d []float64, b *periods, alpha float64) (iv, mean result.Estimate) {
	if b != nil {
		iv = b.estimate(d, alpha) // which may adjust d
		return iv, stats.PairedT(d, alpha)
	}
	return pairedInterval(j.record.x, d, alpha), stats.PairedT(d, alpha)
}

// disagree reports whether mean and Hodges-Lehmann tell different stories: they are
// apart by more than a quarter of the interval (for normal differences that is more
// than four standard errors of what is between them), or the interval of the mean is
// more than twice as wide. What is below a quarter of the margin does not matter.
func disagree(s scale, iv, mean result.Estimate) bool {
	width, meanWidth := iv.High-iv.Low, mean.High-mean.Low
	apart, least := math.Abs(mean.Value-iv.Value), s.margin()/4
	return apart > max(width/4, least) || meanWidth > max(2*width, least)
}

// differences returns that of every block in which all cells have a value, in the
// order they ran, and how many blocks lack one; and the pairs themselves where the
// comparison is by their order.
func (j *judge) differences(c comparison, t *table) (d []float64, b *periods, lost int) {
	d = make([]float64, 0, len(t.rows))
	if c.pairs() || c.ordered && t.taken != nil {
		b = &periods{record: j.record, drift: j.record.drifts(t)}
	}
	for i := range t.rows {
		row, sum := t.row(i), 0.0
		for _, w := range c.weights {
			sum += w.w * row[w.cell]
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) { // the largest numbers apart
			lost++
			continue
		}
		d = append(d, sum)
		if b != nil {
			b.add(t, i, c)
		}
	}
	return d, b, lost
}
