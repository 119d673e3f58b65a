package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Limit is why the runs cannot carry a claim that their interval alone would allow.
type Limit string

// The limits.
const (
	Survivors Limit = "failures" // runs fail at a level, or are void, and those left may be the good ones
	Coarse    Limit = "coarse"   // values come in steps beside which the margin is small
	Tail      Limit = "tail"     // the mean of rare slow runs is not within the margin
	Trend     Limit = "trend"    // the effect is another at other times
	Early     Limit = "early"    // it may be another at the end of the plan
)

// tiedShare is how many differences may be one and the same number: a clock whose step
// noise does not blur makes more, and what is below its step is then not seen at all.
const tiedShare = 0.3

// limit takes back a verdict that the runs cannot carry, and says why.
func (j *judge) limit(e *Effect, t *table, iv, mean result.Estimate, c comparison) {
	none := e.Verdict == NoEffect
	if f := j.record.failing(c); f != nil {
		e.Failing = f
		j.survivors(e, f)
	}
	j.coarse(e, t, iv, c)
	delta := t.margin()
	if c.randomised {
		// It guards a claim and makes none, so it takes no share of alpha for other looks.
		mean = stats.PairedT(e.Differences, j.single)
	}
	// Rare stalls move the mean and leave the middle where it is.
	if none && !(mean.Low >= -delta && mean.High <= delta) {
		e.forbid(Tail, e.Verdict == NoEffect)
	}
}

// forbid notes a limit, and where it takes a verdict back makes it inconclusive.
func (e *Effect) forbid(l Limit, takes bool) {
	e.Limits = append(e.Limits, l)
	if takes {
		e.Verdict, e.Reason, e.Need, e.NeedSeconds = Inconclusive, Reason{Kind: Limited, N: len(e.Limits) - 1}, 0, 0
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
		more = sign(share(f.Level.Failed, f.Level.Runs) - share(f.Base.Failed, f.Base.Runs))
	case f.Voids < alike:
		more = sign(share(f.Level.Void, f.Level.Tried) - share(f.Base.Void, f.Base.Tried))
	}
	e.forbid(Survivors, e.Verdict == NoEffect || better != 0 && better == more)
}

func sign(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
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

// trend judges whether the differences of e rise or fall with the blocks, by more than
// the margin: the effect is then another at other times, and its mean over those seen stands for none of them.
func (j *judge) trend(e *Effect, t *table) {
	d := e.Differences
	_, p := stats.Trend(d)
	if !(p < trendAlpha) || e.Verdict == VoidVerdict {
		return
	}
	third := len(d) / 3
	first, last := stats.Median(d[:third]), stats.Median(d[len(d)-third:])
	if !(math.Abs(last-first) > t.margin()) {
		return
	}
	e.Trend = &Trended{P: p, First: t.effect(first), Last: t.effect(last)}
	e.forbid(Trend, e.Verdict == NoEffect)
}

// early judges a verdict before the end of the plan: the line through the differences, carried on
// to that end, must leave their mean beyond the margin for an effect, and within half of it for none.
// A trend that is too weak to be seen yet is then followed to where it matters. Half, since the
// slope of a few blocks is known badly: bench/README.md has what both cost and save. Records of
// signed ranks keep the effects that they called without. Pairs of periods are followed to the next look only:
// their plans are long, and a line through 10 pairs says nothing of 120.
func (j *judge) early(e *Effect, t *table, c comparison) {
	done, planned := len(t.rows), len(j.record.x.Blocks)
	if c.paired {
		for _, look := range slices.Backward(j.record.x.Design.Looks) {
			if look > done {
				planned = look
			}
		}
	}
	if done >= planned {
		return
	}
	n := float64(len(e.Differences))
	order := make([]float64, len(e.Differences))
	for i := range order {
		order[i] = float64(i)
	}
	end := int(math.Ceil(n * float64(planned) / float64(done)))
	at, slope := stat.LinearRegression(order, e.Differences, nil, false)
	mean := at + slope*float64(end-1)/2
	holds, cost := true, mean*t.cost()
	switch {
	case e.Verdict == NoEffect:
		holds = math.Abs(mean) <= t.margin()/2
	case e.Verdict == CostsMore && c.randomised:
		holds = cost > t.margin()
	case e.Verdict == CostsLess && c.randomised:
		holds = cost < -t.margin()
	}
	if holds {
		return
	}
	e.Ahead = t.effect(mean)
	e.forbid(Early, true)
	e.Need = end
	j.time(e)
}

// trendAlpha is rare enough that a study without a trend seldom warns.
const trendAlpha = 0.01
