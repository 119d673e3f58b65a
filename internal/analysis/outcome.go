package analysis

import (
	"slices"

	"hostlab/internal/result"
)

// Outcome is what a script wants to know of an experiment.
type Outcome int

// The outcomes, in rising order of what asks for attention.
const (
	NoneBeyond Outcome = iota // every primary effect is within its margin, or the section's rule says none
	// a primary effect is inconclusive or unresolved; the study has no primary effect; its rule decides nothing; or the
	// runs of a cell fail
	Open
	Beyond // a primary effect is beyond its margin, or the rule says that there is one
)

// Outcome is the highest one among the primary effects. One with no primary effect that
// was judged is open.
func (a *Analysis) Outcome() Outcome {
	worst, judged := a.Least(), false
	if a.Ended == result.Harmed {
		if worst = max(worst, Open); a.Harms() {
			return Beyond
		}
	}
	for _, e := range a.Effects {
		if !e.Primary() {
			continue
		}
		judged = true
		switch e.Verdict {
		case CostsMore, CostsLess:
			worst = Beyond
		case NoEffect:
		default:
			worst = max(worst, Open)
		}
	}
	if !judged {
		worst = max(worst, Open)
	}
	return worst
}

// Harms reports whether the randomised comparison agrees with an end that was made to be safe: some effect is that the
// level costs more.
func (a *Analysis) Harms() bool {
	return slices.ContainsFunc(a.Effects, func(e Effect) bool { return e.Verdict == CostsMore })
}

// Least is the outcome below which no rule may decide: where runs fail, a claim of no
// effect would be of those that did not.
func (a *Analysis) Least() Outcome {
	if slices.ContainsFunc(a.Failures, Failures.Often) {
		return Open
	}
	return NoneBeyond
}

// Counted are copies of the runs that the estimates are of.
func (a *Analysis) Counted() []result.Run {
	runs := make([]result.Run, len(a.Used))
	for i, run := range a.Used {
		runs[i] = *run
	}
	return runs
}
