// Package analysis turns the records of an experiment into effects: estimates
// with simultaneous intervals, a verdict each, and what limits them. The runner
// uses it at its looks and the reports show it, so that both say the same.
package analysis

import (
	"time"

	"hostlab/internal/result"
)

// Verdict is what an interval says about an effect, given the practical margin.
type Verdict string

// The verdicts. Cost is in the sense of the response: where higher is better, a
// lower value costs more.
const (
	CostsMore    Verdict = "costs_more"
	CostsLess    Verdict = "costs_less"
	NoEffect     Verdict = "no_practical_effect"
	Unresolved   Verdict = "unresolved"   // excludes no effect at all, but straddles the margin
	Inconclusive Verdict = "inconclusive" // too few blocks, or too wide
)

// Figure is how large a change is, or one of its sides. What is unknown, or was not asked for, has N 0.
type Figure struct {
	result.Estimate // of a typical run: Hodges-Lehmann, of a side the median without an interval
	// Mean is that of all runs: rare stalls move it, and not Value. Of a change it is the paired-t estimate of the
	// differences, or, where runs scatter unequally or stall, the mean in the response's unit over the baseline's.
	Mean result.Estimate
	P95  result.Estimate // of the runs of a side; an end is NaN where they are too few
	// of a change: where the level is held for a stretch, the baseline before and after; N counts its runs
	Held result.Estimate
}

// Effect is one contrast in one response. Values are fractions of the baseline
// for ratios (0.03: 3 % more), in the response's unit for differences. NaN is
// unknown.
type Effect struct {
	Contrast result.Contrast
	Response result.Response

	Figure             // of the change, with intervals at 1-Alpha
	Base, Level Figure // of the two sides, in the response's unit; unknown for interactions
	// what N counts: blocks; in a split plot superblocks, or boots where one of each holds the whole contrast
	Unit       string
	Alpha      float64 // after multiplicity and looks
	Stalls     bool    // Mean tells another story than Value
	Scatter    float64 // p of equal scatter; NaN unless Uneven
	NoiseFloor float64 // of the A/A pairs, on the scale of Value; NaN: none

	Verdict Verdict
	Reason  Reason
	// Student is set where value and interval are Student's, as ranks have none of so few.
	Student bool
	// Unseen is set where no effect is claimed: stalls in fewer than 1 of so many runs may
	// not have been seen.
	Unseen   int
	Adjusted *Adjusted // nil: nothing was to be
	// Need is how many of Unit in all would be enough to decide at this noise, 0 when
	// not known or decided; NeedSeconds is the time that the missing ones take.
	Need        int
	NeedSeconds float64

	// Finds is the least effect that the whole plan, of Planned units, calls beyond the margin with
	// probability power, at the scatter seen; NaN where not known.
	Finds   float64
	Planned int

	// Limits are why the runs cannot carry a claim, or only a weaker one, with what was seen of
	// each: how often the two sides failed, the steps of the values; else nil.
	Limits  []Limit
	Failing *Failing
	Steps   *Steps
	Carried *Carried
	// Settle is the time for which a host that carries over is best left alone after a change, SettleRuns the runs that it
	// comes from; 0 or NaN: nothing asks for it, or how long runs take is not known.
	Settle, SettleRuns float64
	due                int // the cell, from 1, whose stretches are to be made; 0: none

	// one a unit, in order, on the scale of the test (log ratio or difference), adjusted
	Differences []float64
	Warnings    []string
}

// AA is the comparison of the baseline with itself, of pairs that were made for it.
type AA struct {
	Response        result.Response
	result.Estimate         // on the scale of Effect.Value, at NominalAlpha
	Floor           float64 // how far the interval reaches from none; NaN: there is none
	Finds           float64 // the effect that the whole plan finds with probability power, at this noise; NaN: not known
	Unit            string  // what N counts
}

// FailedWarmUp is the key of Analysis.Runs for warm-up runs that failed or were void
// and were run again.
const FailedWarmUp result.Status = "failed warm-up"

// Analysis is the outcome of one experiment.
type Analysis struct {
	Experiment  *result.Experiment
	Complete    bool   // it ended by itself
	Ended       string // why it ended; "" while it has not
	Blocks      int    // complete blocks that were analysed
	Look        int    // the look they belong to, from 1; 0 before the first
	Runs        map[result.Status]int
	Used        []*result.Run // the runs that the estimates are of: good ones of the blocks analysed, as recorded
	Effects     []Effect      // primary ones first, in the study's order
	AA          []AA
	Failures    []Failures // of each cell, in their order
	Struck      []Struck   // periods that were ended early
	First, Last time.Time  // starts of the runs used; zero without any
	Hours       int        // of the day's 24, in which runs began
	Seconds     float64    // of a median block, pauses between runs included; NaN: not known
	Notes       []string   // what is not compared because it means nothing in some cells
	Warnings    []string
}

// Primary reports whether the effect shares in alpha and in the decision to stop.
func (e Effect) Primary() bool { return e.Contrast.Primary && e.Response.Primary }

// Decided reports whether every primary effect has a verdict that more blocks are
// not needed for: any but Unresolved and Inconclusive, or one for which only the stretches
// of its level are to be made. Without a primary effect nothing is ever decided, and an experiment runs through its
// looks.
func (a *Analysis) Decided() bool {
	primary := 0
	for _, e := range a.Effects {
		if !e.Primary() {
			continue
		}
		primary++
		if e.due == 0 && (e.Verdict == Unresolved || e.Verdict == Inconclusive) {
			return false
		}
	}
	return primary > 0
}
