package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/stats"
)

// power is the probability with which Effect.Need blocks decide.
const power = 0.8

// maxNeed is the largest number of blocks worth naming; above it the answer is
// that this noise or this margin will not do.
const maxNeed = 10_000

// verdict judges e by its interval iv, both on the scale of the test.
func (j *judge) verdict(e *Effect, t *table, iv stats.Interval, c comparison, aa *floor) {
	e.Verdict = Inconclusive
	delta := t.margin()
	margin := t.size(t.response.Margin)
	switch {
	case aa != nil && aa.Void:
		e.Verdict, e.Reason = VoidVerdict, aa.Reason
		return
	case !(delta > 0) || math.IsInf(delta, 0):
		e.Reason = fmt.Sprintf("The response has no practical margin above 0 (it is %g), so that no effect can be judged.", t.response.Margin)
		if t.fraction > 0 {
			e.Reason = fmt.Sprintf("%s of a baseline's median of 0 is no margin; give one in the response's unit: compare = \"difference\".", percent(t.fraction))
		}
		return
	case e.N == 0 || math.IsNaN(iv.Low) || !j.judged:
		j.tooFew(e, t, iv, delta)
		return
	}
	low, high := iv.Low*t.cost(), iv.High*t.cost() // in the direction of cost
	if low > high {
		low, high = high, low
	}
	span := t.span(e.Low, e.High)
	switch {
	case low > delta:
		e.Verdict = CostsMore
		e.Reason = fmt.Sprintf("The whole interval, %s, costs more than the margin of %s.", span, margin)
		if t.cost() < 0 {
			e.Reason = fmt.Sprintf("The whole interval, %s, is lower by more than the margin of %s.", span, margin)
		}
	case high < -delta:
		e.Verdict = CostsLess
		e.Reason = fmt.Sprintf("The whole interval, %s, costs less by more than the margin of %s.", span, margin)
		if t.cost() < 0 {
			e.Reason = fmt.Sprintf("The whole interval, %s, is higher by more than the margin of %s.", span, margin)
		}
	case low >= -delta && high <= delta:
		j.none(e, t, c, aa, delta, span)
	case low > 0 || high < 0:
		e.Verdict = Unresolved
		e.Reason = fmt.Sprintf("The interval, %s, excludes no effect at all, but not one below the margin of %s.", span, margin)
		j.need(e, t, iv, delta)
	default:
		e.Reason = fmt.Sprintf("The interval, %s, is too wide for a margin of %s.", span, margin)
		j.need(e, t, iv, delta)
	}
}

// none judges an effect whose interval lies within the margin: that is no
// practical effect, if the comparison of baseline with itself is within it too.
func (j *judge) none(e *Effect, t *table, c comparison, aa *floor, delta float64, span string) {
	margin := t.size(t.response.Margin)
	switch {
	case aa == nil || !c.floored():
	case math.IsNaN(aa.Floor):
		e.Reason = fmt.Sprintf("The interval, %s, is within the margin of %s, but the noise floor is not known: %s.", span, margin, aa.Reason)
		return
	case aa.phi > delta:
		e.Reason = fmt.Sprintf("The interval, %s, is within the margin of %s, but the baseline differs from its own duplicate by up to %s.", span, margin, t.size(aa.Floor))
		e.Need = needed(aa.iv, stats.Spread(aa.d), delta, e.Alpha)
		j.time(e)
		return
	}
	e.Verdict = NoEffect
	e.Reason = fmt.Sprintf("The whole interval, %s, is within the margin of %s.", span, margin)
	if n := len(t.of(c.level)); n > 0 {
		// Of what has this share, n runs hold none in 1 of 20 cases.
		e.Reason += fmt.Sprintf(" Stalls in fewer than 1 of %.0f runs may not have been seen.", 1/(1-math.Pow(0.05, 1/float64(n))))
	}
	if aa != nil && !c.floored() {
		e.Reason += " The A/A duplicate is a boot of its own, and no noise floor for what is compared within boots."
	}
}

// tooFew says why an effect without an interval, or before a look, is not judged.
func (j *judge) tooFew(e *Effect, t *table, iv stats.Interval, delta float64) {
	least := max(j.firstLook, stats.MinBlocks(e.Alpha))
	switch {
	case len(t.rows) == 0:
		e.Reason = "No block is complete."
	case e.N == 0:
		e.Reason = fmt.Sprintf("No block has a value of %s in all its runs.", t.response.Name)
	case math.IsNaN(iv.Low):
		n := stats.MinBlocks(e.Alpha)
		e.Reason = fmt.Sprintf("There is no interval at this confidence below %d %s; %d missing.", n, e.Unit, n-e.N)
	case j.firstLook == 0:
		least = 0
		e.Reason = "The study has no look before its end, and is judged then."
	default:
		least = max(least, needed(iv, stats.Spread(e.Differences), delta, e.Alpha))
		e.Reason = fmt.Sprintf("The first look is at %s, and there are %d.", plural(j.firstLook, "block", "blocks"), len(t.rows))
	}
	e.Need = least
	j.time(e)
}

// need adds how many blocks would decide.
func (j *judge) need(e *Effect, t *table, iv stats.Interval, delta float64) {
	e.Need = needed(iv, stats.Spread(e.Differences), delta, e.Alpha)
	if e.Need == 0 {
		e.Reason += fmt.Sprintf(" The effect is too near the margin of %s, or the noise too great, for a sensible number of %s to decide.", t.size(t.response.Margin), e.Unit)
	}
	j.time(e)
}

// needed returns the number of units, more than there are, at which an effect is
// decided with probability power: one as far from the margin as the estimate is,
// or as far as 0 is from it if that is less. At an estimate of 0 that is the usual
// number for an effect delta; close to the margin it grows without bound. 0: more
// than maxNeed.
func needed(iv stats.Interval, spread, delta, alpha float64) int {
	gap := min(math.Abs(math.Abs(iv.Estimate)-delta), delta)
	n := stats.BlocksNeeded(spread, gap, alpha, power)
	if n > 0 && n <= iv.N {
		// The spread knows nothing of tails, and the interval does: it shrinks with
		// the square root of n.
		half := (iv.High - iv.Low) / 2
		n = max(iv.N+1, int(math.Ceil(min(float64(iv.N)*(half/gap)*(half/gap), maxNeed+1))))
	}
	if n > maxNeed {
		return 0
	}
	return n
}

// time adds how long the missing units take.
func (j *judge) time(e *Effect) {
	e.NeedSeconds = 0
	if e.Need <= e.N {
		return
	}
	e.NeedSeconds = float64(e.Need-e.N) * j.seconds
}
