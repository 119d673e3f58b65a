package analysis

import (
	"math"

	"hostlab/internal/result"
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
	iv  result.Estimate
	phi float64 // how far iv reaches from 0
}

// floor compares the baseline with its hidden duplicate in the response of t.
func (j *judge) floor(t *table) floor {
	nan := math.NaN()
	a := floor{AA: AA{Response: t.response, Estimate: result.Unknown(), Floor: nan}, phi: nan}
	c, ok := j.record.duplicates()
	if !ok {
		a.Reason.Kind = NoDuplicate
		return a
	}
	t = t.on(c)
	a.Response, a.Unit = t.response, c.unit
	alpha := j.secondary
	if t.response.Primary {
		alpha = j.primary
	}
	a.d, _, _ = j.differences(c, t)
	var mean result.Estimate
	a.iv, mean, _ = j.interval(a.d, nil, alpha)
	if j.record.randomised() && math.IsNaN(a.iv.Low) {
		a.iv = mean // an effect may be called before the ranks of two have an interval
	}
	a.Estimate = t.estimate(a.iv)
	if !math.IsNaN(a.iv.Low) {
		a.phi = max(math.Abs(a.iv.Low), math.Abs(a.iv.High))
		a.Floor = max(math.Abs(a.Low), math.Abs(a.High))
	}
	if v, student := j.voided(a.d); v.Low > 0 || v.High < 0 {
		a.Void, a.Reason.Kind = true, VoidAA
		a.VoidLow, a.VoidHigh, a.VoidStudent = t.effect(v.Low), t.effect(v.High), student
	} else if math.IsNaN(a.iv.Low) {
		a.Reason = Reason{Kind: FewUnits, N: stats.MinBlocks(alpha)}
	}
	return a
}

// voided returns the interval that voids a study where it is without 0, NaN where
// nothing is judged yet, and whether it is Student's. Ranks have none at 99 % below 8 blocks,
// and an effect may be called from 6 on: there it is Student's, which without any
// difference is without 0 in 1.0 % of experiments of 6 or 7 with normal noise and in
// less where tails are heavier (TestFalseVoidOfFew). The widest interval that ranks have, of
// 96.9 % at 6, would void 3 %. Where ranks give no effect an interval either, nothing
// is claimed that could be void, and few values that were rounded are often equal.
func (j *judge) voided(d []float64) (iv result.Estimate, student bool) {
	x := j.record.x
	switch {
	case !j.judged || x.Design.Kind != splitPlot && len(d) < stats.Least(x.Design.Test, max(j.primary, j.secondary)):
		return result.Unknown(), false
	case len(d) < stats.MinBlocks(voidAlpha):
		return stats.PairedT(d, voidAlpha), true
	}
	return stats.HodgesLehmann(d, voidAlpha), false
}
