package analysis

import (
	"cmp"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Limit is why the runs cannot carry a claim that their interval alone would allow.
type Limit string

const (
	Survivors Limit = "failures" // runs fail at a level, or are void, and those left may be the good ones
	Coarse    Limit = "coarse"   // values come in steps beside which the margin is small
	Tail      Limit = "tail"     // the mean of rare slow runs is not within the margin
	Unheld    Limit = "unheld"   // the stretches that hold a level are not made
	CarryOver Limit = "carry"    // the levels of the runs before show in a run
)

type Steps struct {
	Step   float64 // the smallest, in the response's unit; 0: all values are the same
	Beyond bool    // the margin
	Tied   float64 // share of the differences that are one and the same number, where that is large
}

// tiedShare is how many differences may be one and the same number: a clock whose step
// noise does not blur makes more, and what is below its step is then not seen at all.
const tiedShare = 0.3

// limit takes back a verdict that the runs cannot carry, and says why.
func (j *judge) limit(e *Effect, t *table, iv result.Estimate, c comparison) {
	none := e.Verdict == NoEffect
	if f := j.record.failing(c); f != nil {
		e.Failing = f
		j.survivors(e, f)
	}
	j.coarse(e, t, iv, c)
	delta := t.margin()
	// it guards a claim and makes none, so it takes no share of alpha for other looks
	mean := stats.PairedT(e.Differences, j.single)
	// Rare stalls move the mean and leave the middle where it is.
	if none && !(mean.Low >= -delta && mean.High <= delta) {
		e.forbid(Tail, e.Verdict == NoEffect)
	}
	j.carried(e, t, c)
	j.held(e, t, c)
	j.uneven(e, t, c)
}

// forbid notes a limit, and where it takes a verdict back makes it inconclusive.
func (e *Effect) forbid(l Limit, takes bool) {
	e.Limits = append(e.Limits, l)
	if takes {
		e.Verdict, e.Reason, e.Need = Inconclusive, Reason{Kind: Limited, N: len(e.Limits) - 1}, 0
	}
}

// survivors judges failures. Slow runs are the ones that time out, so that the side
// that fails more looks better than it is: "no effect" is refused, and a claim in favour
// of that side.
func (j *judge) survivors(e *Effect, f *Failing) {
	better := 0 // the side that the verdict favours: 1 the level, -1 the baseline
	switch e.Verdict {
	case CostsLess:
		better = 1
	case CostsMore:
		better = -1
	}
	more := 0 // the side that fails more, or is void more often
	share := func(k, n int) float64 { return float64(k) / float64(max(n, 1)) }
	switch {
	case f.differ():
		more = cmp.Compare(share(f.Level.Failed, f.Level.Runs), share(f.Base.Failed, f.Base.Runs))
	case f.Voids < alike:
		more = cmp.Compare(share(f.Level.Void, f.Level.Tried), share(f.Base.Void, f.Base.Tried))
	}
	e.forbid(Survivors, e.Verdict == NoEffect || better != 0 && better == more)
}

// coarse judges the steps in which values come. "No effect" is refused where the
// smallest step is beyond the margin, or where too many differences are the same; an
// effect, where it is beyond the margin by less than such a step. Bytes are exact: none
// is lost between two of them.
func (j *judge) coarse(e *Effect, t *table, iv result.Estimate, c comparison) {
	values := t.raw(c)
	if len(values) == 0 || math.IsNaN(iv.Low) || // nothing is claimed of so few
		t.response.Unit == "B" && !slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) }) {
		return
	}
	step := smallestStep(values)
	delta, on := t.margin(), step // the step on the scale of the test
	if t.ratio() {
		on = math.Log1p(step / stats.Median(values))
	}
	tied := mostTied(e.Differences)
	if !(on > delta) && tied <= tiedShare {
		return
	}
	e.Steps = &Steps{Step: step, Beyond: on > delta}
	if tied > tiedShare {
		e.Steps.Tied = tied
	}
	takes := e.Verdict == NoEffect
	if e.Verdict == CostsMore || e.Verdict == CostsLess {
		takes = on > delta && min(math.Abs(iv.Low), math.Abs(iv.High))-on <= delta
	}
	e.forbid(Coarse, takes)
}

// smallestStep is the least distance of two different values; 0 where all are the same.
func smallestStep(values []float64) float64 {
	s := slices.Clone(values)
	slices.Sort(s)
	least := 0.0
	for i := range s[1:] {
		// What differs by rounding is the same.
		if d := s[i+1] - s[i]; d > 1e-12*math.Abs(s[i+1]) && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// mostTied is the share of the value that d has most often, and 0 where none comes twice.
func mostTied(d []float64) float64 {
	s := slices.Clone(d)
	slices.Sort(s)
	most, run := 1, 1
	for i := 1; i < len(s); i++ {
		if s[i]-s[i-1] > 1e-9*max(math.Abs(s[i]), 1e-3) {
			run = 0
		}
		run++
		most = max(most, run)
	}
	if most == 1 {
		return 0
	}
	return float64(most) / float64(len(d))
}
