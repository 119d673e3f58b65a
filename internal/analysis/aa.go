package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/stats"
)

// voidAlpha is that of the interval which voids a study when the baseline differs
// from its own duplicate. It is not shared among looks: a study that looks void
// goes on (see Decided), so that it is judged once, where it stops; and a share of
// it could void nothing at a first look, whose blocks are too few for so rare an
// event.
const voidAlpha = 0.01

// floor is an A/A comparison with what further sums need, on the scale of the test.
type floor struct {
	AA
	d   []float64
	iv  stats.Interval
	phi float64 // how far iv reaches from 0
}

// floor compares the baseline with its hidden duplicate in the response of t.
func (j *judge) floor(t *table) floor {
	nan := math.NaN()
	a := floor{AA: AA{Response: t.response, Value: nan, Low: nan, High: nan, Floor: nan}, phi: nan}
	c, ok := j.record.duplicates()
	if !ok {
		a.Reason = "the record has no duplicate of the baseline"
		return a
	}
	t = t.on(c)
	a.Response = t.response
	alpha := j.secondary
	if t.response.Primary {
		alpha = j.primary
	}
	a.d, _ = j.differences(c, t)
	a.N = len(a.d)
	a.iv, _, _ = j.interval(a.d, alpha)
	a.Value, a.Low, a.High = t.effect(a.iv.Estimate), t.effect(a.iv.Low), t.effect(a.iv.High)
	if !math.IsNaN(a.iv.Low) {
		a.phi = max(math.Abs(a.iv.Low), math.Abs(a.iv.High))
		a.Floor = max(math.Abs(a.Low), math.Abs(a.High))
	}
	if v, method := j.voided(a.d); v.Low > 0 || v.High < 0 {
		a.Void = true
		a.Reason = fmt.Sprintf("The baseline differs from its own hidden duplicate: %s 99 %% interval of %s is %s, without 0. Something other than the factors moves the values, so that no effect can be told from it.",
			method, t.response.Name, t.span(t.effect(v.Low), t.effect(v.High)))
	} else if math.IsNaN(a.iv.Low) {
		a.Reason = fmt.Sprintf("there is no interval of the A/A duplicate below %d %s, and there are %d", stats.MinBlocks(alpha), c.unit, a.N)
	}
	return a
}

// voided returns the interval that voids a study where it is without 0, NaN where
// nothing is judged yet, and whose it is. Ranks have none at 99 % below 8 blocks,
// and an effect may be called from 6 on: there it is Student's, which without any
// difference is without 0 in 1.0 % of experiments of 6 or 7 with normal noise and in
// less where tails are heavier (TestFalseVoidOfFew). The widest interval that ranks have, of
// 96.9 % at 6, would void 3 %. Where ranks give no effect an interval either, nothing
// is claimed that could be void, and few values that were rounded are often equal.
func (j *judge) voided(d []float64) (iv stats.Interval, method string) {
	none := stats.Interval{Low: math.NaN(), High: math.NaN()}
	split := j.record.x.Design.Kind == splitPlot
	switch {
	case !j.judged || !split && len(d) < stats.MinBlocks(max(j.primary, j.secondary)):
		return none, ""
	case len(d) < stats.MinBlocks(voidAlpha):
		return stats.PairedT(d, voidAlpha), "Student's"
	}
	return stats.HodgesLehmann(d, voidAlpha), "the"
}
