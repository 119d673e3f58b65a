package analysis

import (
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// power is the probability with which Effect.Need blocks decide.
const power = 0.8

// soonest is the fewest blocks after which a study that may go on ends with no practical effect: what
// hides an effect (failures, stalls) does not show in fewer (bench/README.md, traps).
const soonest = 10

// maxNeed is the largest number of blocks worth naming; above it the answer is
// that this noise or this margin will not do.
const maxNeed = 10_000

// Reason is why a verdict is what it is. Its sentence is
// made where it is printed, from these figures and those of the effect.
type Reason struct {
	Kind Why
	N    int     // blocks or units, where the kind says so
	Size float64 // Share: the margin as a fraction of a median of 0
	Text string  // Damaged: what the record lacks
}

// Why is the kind of a reason.
type Why string

const (
	Shown      Why = "interval"    // the interval itself decides: it is beyond the margin, within it, or straddles it
	TooNear    Why = "too near"    // the same, and no sensible number of blocks would decide
	NoMargin   Why = "no margin"   // the response has none above 0
	NoShare    Why = "no share"    // a fraction of a baseline's median of 0 is no margin
	NoBlocks   Why = "no blocks"   // none is complete
	NoValues   Why = "no values"   // no block has one in all its runs
	FewUnits   Why = "few units"   // there is no interval below N
	Unbounded  Why = "unbounded"   // the coins fell too much alike, or as the drift, to bound the effect
	BeforeLook Why = "before look" // the first one is at N blocks
	NoLook     Why = "no look"     // it is judged at its end
	TooEarly   Why = "too early"   // for no effect: below N, failures and stalls do not show
	Limited    Why = "limits"      // the last of Effect.Limits takes the verdict back
	Damaged    Why = "record"      // the record lacks what the effect takes
)

// verdict judges e by its interval iv, both on the scale of the test.
func (j *judge) verdict(e *Effect, t *table, iv result.Estimate, c comparison) {
	e.Verdict, e.Reason.Kind = Inconclusive, Shown
	delta := t.margin()
	switch {
	case !(delta > 0) || math.IsInf(delta, 0):
		e.Reason.Kind = NoMargin
		if t.fraction > 0 {
			e.Reason = Reason{Kind: NoShare, Size: t.fraction}
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
	switch {
	case low > delta:
		e.Verdict = CostsMore
	case high < -delta:
		e.Verdict = CostsLess
	case low >= -delta && high <= delta:
		j.none(e, t, c)
	case low > 0 || high < 0:
		e.Verdict = Unresolved
		j.need(e, iv, delta)
	default:
		j.need(e, iv, delta)
	}
}

// none judges an effect whose interval lies within the margin: that is no practical effect.
func (j *judge) none(e *Effect, t *table, c comparison) {
	if x := j.record.x; e.N < soonest && x.Design.Kind != result.SplitPlot && len(t.rows) < x.Planned() {
		e.Reason, e.Need = Reason{Kind: TooEarly, N: soonest}, soonest
		return
	}
	e.Verdict = NoEffect
	if n := len(t.of(c.level)); n > 0 {
		// Of what has this share, n runs hold none in 1 of 20 cases.
		e.Unseen = int(math.Round(1 / (1 - math.Pow(0.05, 1/float64(n)))))
	}
}

// tooFew says why an effect without an interval, or before a look, is not judged.
func (j *judge) tooFew(e *Effect, t *table, iv result.Estimate, delta float64) {
	least := stats.MinBlocks(e.Alpha)
	e.Need = max(j.firstLook, least)
	switch {
	case len(t.rows) == 0:
		e.Reason.Kind = NoBlocks
	case e.N == 0:
		e.Reason.Kind = NoValues
	case math.IsNaN(iv.Low) && e.N >= least:
		e.Reason.Kind, e.Need = Unbounded, needed(iv, stats.Spread(e.Differences), delta, e.Alpha)
	case math.IsNaN(iv.Low):
		e.Reason = Reason{Kind: FewUnits, N: least}
	case j.firstLook == 0:
		e.Reason.Kind, e.Need = NoLook, 0
	default:
		e.Need = max(e.Need, needed(iv, stats.Spread(e.Differences), delta, e.Alpha))
		e.Reason = Reason{Kind: BeforeLook, N: j.firstLook}
	}
}

// need adds how many blocks would decide.
func (j *judge) need(e *Effect, iv result.Estimate, delta float64) {
	e.Need = needed(iv, stats.Spread(e.Differences), delta, e.Alpha)
	if e.Need == 0 {
		e.Reason.Kind = TooNear
	}
}

// needed returns the number of units, more than there are, at which an effect is
// decided with probability power: one as far from the margin as the estimate is,
// or as far as 0 is from it if that is less. At an estimate of 0 that is the usual
// number for an effect delta; close to the margin it grows without bound. 0: more
// than maxNeed.
func needed(iv result.Estimate, spread, delta, alpha float64) int {
	gap := min(math.Abs(math.Abs(iv.Value)-delta), delta)
	n := stats.BlocksNeeded(spread, gap, alpha, power)
	switch {
	case n == 0 || n > iv.N:
	case math.IsNaN(iv.Low):
		n = iv.N + 1
	default:
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
