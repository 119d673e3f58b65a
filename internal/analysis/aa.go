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
	alpha := j.secondary
	if t.response.Primary {
		alpha = j.primary
	}
	a.d, _ = j.differences(c, t)
	a.N = len(a.d)
	a.iv, _, _ = j.interval(a.d, alpha)
	a.Value, a.Low, a.High = t.effect(a.iv.Estimate), t.effect(a.iv.Low), t.effect(a.iv.High)
	if math.IsNaN(a.iv.Low) {
		a.Reason = fmt.Sprintf("there is no interval of the A/A duplicate below %d %s, and there are %d", stats.MinBlocks(alpha), c.unit, a.N)
		return a
	}
	a.phi = max(math.Abs(a.iv.Low), math.Abs(a.iv.High))
	a.Floor = max(math.Abs(a.Low), math.Abs(a.High))
	if v, _, _ := j.interval(a.d, j.void); j.judged && (v.Low > 0 || v.High < 0) {
		a.Void = true
		a.Reason = fmt.Sprintf("The baseline differs from its own hidden duplicate: the 99 %% interval of %s is %s, without 0. Something other than the factors moves the values, so that no effect can be told from it.",
			t.response.Name, t.span(t.effect(v.Low), t.effect(v.High)))
	}
	return a
}
