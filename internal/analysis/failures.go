package analysis

import (
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// failShare is how many of a cell's runs may fail while the others still stand for it.
const failShare = 0.05

// Failures is how the first tries of a cell's runs went. Retries are not in it: what a
// retry gives has survived a failure, and how often there is one depends on the first.
type Failures struct {
	Cell   int // index of Experiment.Cells
	Runs   int // places of the plan that were tried and whose first try was not void
	Failed int
	Tried  int // places whose first try was void, or not
	Void   int
	Reason string // of the first that failed
}

func (f *Failures) add(o Failures) {
	f.Runs, f.Failed, f.Tried, f.Void = f.Runs+o.Runs, f.Failed+o.Failed, f.Tried+o.Tried, f.Void+o.Void
}

// Share is how many failed, with the interval of Clopper and Pearson at 95 %.
func (f Failures) Share() result.Estimate {
	low, high := stats.Share(f.Failed, f.Runs, 0.05)
	return result.Estimate{Value: float64(f.Failed) / float64(max(f.Runs, 1)), Low: low, High: high, N: f.Runs}
}

// Often reports whether more failed than the others could stand for.
func (f Failures) Often() bool {
	return f.Share().Value > failShare
}

// Failing compares the sides of a contrast.
type Failing struct {
	Level, Base   Failures
	Failed, Voids float64 // p of Fisher's exact test that both sides fail, or are void, alike
}

// first notes a run of slot in the counts of its cell, if it is the first try. One that was withdrawn was a good one.
func (f *Failures) first(run *result.Run, tried, decided *bool) {
	if run.Withdrawn {
		return
	}
	if !*tried {
		*tried = true
		f.Tried++
		if run.Status == result.Void {
			f.Void++
		}
	}
	if *decided || run.Status == result.Void {
		return
	}
	*decided = true
	f.Runs++
	if run.Status == result.Failed {
		if f.Failed == 0 {
			f.Reason = run.Reason
		}
		f.Failed++
	}
}

// failing sums up the cells of a comparison; nil where no run of them failed and void
// ones tell nothing.
func (r *record) failing(c comparison) *Failing {
	var f Failing
	often := false
	for _, w := range c.weights {
		side := &f.Base
		if w.w > 0 {
			side = &f.Level
		}
		side.add(r.failures[w.cell])
		often = often || r.failures[w.cell].Often()
	}
	f.Failed = stats.Fisher(f.Level.Failed, f.Level.Runs, f.Base.Failed, f.Base.Runs)
	f.Voids = stats.Fisher(f.Level.Void, f.Level.Tried, f.Base.Void, f.Base.Tried)
	if !often && !f.differ() && f.Voids >= alike {
		return nil
	}
	return &f
}

// alike is the p below which two sides do not fail, or are not void, equally often. It
// is not shared among contrasts: to err here costs more blocks and no wrong claim.
const alike = 0.05

func (f *Failing) differ() bool { return f.Failed < alike }

// Differ reports whether it is failures, and not void runs alone, that limit the comparison.
func (f *Failing) Differ() bool {
	return f.Level.Often() || f.Base.Often() || f.differ() || f.Voids >= alike
}
