// Package smt judges whether a thread that scans memory starves a thread that takes
// locks on the sibling of its core, and whether the caches or the issue slots are to
// blame. It is pure: its input is rates, measured or published.
package smt

import "hostlab/internal/stats"

// Decision is the answer for a host.
type Decision string

// The decisions, in the order in which they are tried.
const (
	Untestable   Decision = "untestable"   // no sibling was reported or measured
	Inconclusive Decision = "inconclusive" // the A/A is wider than 5 %, or placements moved in over 20 % of cells, or no rule applies
	Harm         Decision = "harm"
	None         Decision = "none"
)

// Cause is what harms.
type Cause string

// The causes.
const (
	Caches     Cause = "caches"
	IssueSlots Cause = "issue slots"
	Unknown    Cause = "unknown" // harm without the controls that would tell
)

// Input is what a decision needs: natural logarithms of paired ratios, one a round,
// of the lock thread's rate in a cell to its rate alone. A nil slice is a cell that
// this host cannot have or that was not measured.
type Input struct {
	Siblings     bool      // reported or measured
	Sibling      []float64 // scanner on the sibling
	Other        []float64 // scanner on another core: of the same last-level cache if there is one
	ScanOverALU  []float64 // rate beside the scanner over rate beside the ALU loop, both on the sibling
	Sweep        []Step    // scanner on the sibling, by size, rising
	AA           []float64 // the lock alone against its duplicate
	Contaminated int       // cells whose placement moved or that others disturbed
	Cells        int
	// Alpha is that of every interval; 0: 0.05.
	Alpha float64
}

// Step is one scan size.
type Step struct {
	Name  string // half-l1, half-l2, 2xl2, 2xllc
	Bytes int64
	Ratio []float64
}

// Verdict is a decision with what it rests on. Intervals are of ratios, not of
// logarithms; a zero N is an interval that could not be had.
type Verdict struct {
	Decision                                          Decision       `json:"decision"`
	Cause                                             Cause          `json:"cause,omitempty"` // of harm
	Reason                                            string         `json:"reason"`          // a sentence with the figures
	Sibling, Other, SiblingOverOther, ScanOverALU, AA stats.Interval `json:"-"`
}

// Judge decides by the rule: harm where the sibling keeps less than 90 % of its rate
// and less than 95 % of what it keeps beside a scanner on another core; none where its
// interval lies within 5 % of unharmed.
func Judge(in Input) Verdict { panic("not written") }
