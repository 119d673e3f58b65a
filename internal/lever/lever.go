// Package lever joins what checks found and probes measured into one table: what
// can be changed on this platform, the most that it could give and why, what it
// does give as far as that was measured, and what to type next.
package lever

import (
	"hostlab/internal/check"
	"hostlab/internal/result"
)

// Verdict is what the evidence allows to be said of a lever.
type Verdict string

// The verdicts. Only Worthwhile recommends a change on the strength of a
// measurement; it needs an interval that excludes no effect by more than the
// noise floor and the practical margin, on a host that was not disturbed.
const (
	Worthwhile  Verdict = "worthwhile"   // measured here, and beyond noise
	NoEffect    Verdict = "no_effect"    // measured here, too small to matter
	Unresolved  Verdict = "unresolved"   // measured here, but that does not decide it
	Recommended Verdict = "recommended"  // a source recommends it; its gain was not measured here
	Settled     Verdict = "settled"      // checked, and already as it should be
	Untestable  Verdict = "untestable"   // this host cannot show it
	NotForRole  Verdict = "not_for_role" // a cost is here that this role should bear
	NotHere     Verdict = "not_here"     // nothing on this host sets it; SetBy says who does
)

// The kinds of bounds.
const (
	BoundMeasured = "measured" // from an interval that was measured here
	BoundComputed = "computed" // from settings and limits that this host reports, or from them and a measurement
	BoundCited    = "cited"    // from a figure that the kernel or a source states
)

// Lever is one row of the table.
type Lever struct {
	Name     string   `json:"lever"` // one of the subjects of package check
	Title    string   `json:"title"`
	Findings []string `json:"findings"` // IDs of the checks that found something
	Bound    *float64 `json:"bound"`    // the most it could give, as a fraction of BoundOf; null: unknown
	BoundOf  string   `json:"bound_of"` // what the bound is a share of, as in "a commit's time"
	// what would have to give it, where that is not the setting advised, as in "any faster device"
	BoundBy     string              `json:"bound_by"`
	BoundFrom   string              `json:"bound_from"` // one of the Bound constants; "" while it is unknown
	BoundWhy    string              `json:"bound_why"`
	Measurement *result.Measurement `json:"measured"` // the one that decides; null: none
	// its interval lies beyond its noise floor, on the side of a cost, and nothing disturbed it
	Cost bool `json:"cost"`
	// what spoiled the measurement, as in "4 of 16 rounds were clean, 6 are needed"; "": nothing
	Disturbed string          `json:"disturbed"`
	Evidence  result.Evidence `json:"evidence"` // that the verdict rests on; "" where there is none
	Verdict   Verdict         `json:"verdict"`
	// who sets it where this host has no knob for it; "": this host, or not known
	SetBy   string `json:"set_by"`
	Summary string `json:"summary"` // one or two sentences in plain words, the last without a full stop
	Next    Next   `json:"next"`

	todo   []check.Result // findings to act on, worst first
	effect float64        // share that is certainly lost, to order costs by
	says   string         // what was measured, with figures, as a clause for the verdict
	why    string         // why nothing was measured, or why that decides nothing
	held   string         // how the host's own settings hold the clock down, as a clause
	blind  []string       // IDs of checks that could not look
}

// Next is what to do about a lever.
type Next struct {
	Command string `json:"command"` // what to type; "" where no command does it
	Note    string `json:"note"`    // what it shows, or what to do instead; a clause
}

// decide sets the verdict, what to do next and the clauses of the summary that are not empty.
func (l *Lever) decide(v Verdict, next Next, clauses ...string) {
	l.Verdict, l.Next, l.Summary = v, next, ""
	l.add(clauses...)
}

// add puts clauses that are not empty after the summary.
func (l *Lever) add(clauses ...string) {
	for _, c := range clauses {
		switch {
		case c == "":
		case l.Summary == "":
			l.Summary = c
		default:
			l.Summary += "; " + c
		}
	}
}

// bounded sets a bound, which is a share.
func (l *Lever) bounded(share float64, from, why string) {
	b := min(max(0, share), 1)
	l.Bound, l.BoundFrom, l.BoundWhy = &b, from, why
}

// unbounded says why there is no bound.
func (l *Lever) unbounded(why string) {
	l.Bound, l.BoundFrom, l.BoundWhy = nil, "", "unknown: "+why
}
