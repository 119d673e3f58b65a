// Package lever joins what checks found and probes measured into one table: what
// can be changed on this platform, the most that it could give and why, what it
// does give as far as that was measured, and what to type next.
package lever

import "hostlab/internal/result"

// Verdict is what the evidence allows to be said of a lever.
type Verdict string

// The verdicts. Only Worthwhile recommends a change on the strength of a
// measurement; it needs an interval that excludes no effect by more than the
// noise floor.
const (
	Worthwhile  Verdict = "worthwhile"   // measured here, and beyond noise
	NoEffect    Verdict = "no_effect"    // measured here, too small to matter
	Unresolved  Verdict = "unresolved"   // measured here, but that does not decide it
	Recommended Verdict = "recommended"  // a source recommends it; not measured here
	Settled     Verdict = "settled"      // checked, and already as it should be
	Untestable  Verdict = "untestable"   // this host cannot show it
	NotForRole  Verdict = "not_for_role" // a cost was measured here, and this role should bear it
)

// Lever is one row of the table.
type Lever struct {
	Name        string              `json:"lever"` // one of check's Lever constants
	Title       string              `json:"title"`
	Findings    []string            `json:"findings"` // IDs of the checks that found something
	Bound       *float64            `json:"bound"`    // the most it could give, as a fraction of BoundOf; null: unknown
	BoundOf     string              `json:"bound_of"` // what the bound is a share of, as in "a commit's time"
	BoundWhy    string              `json:"bound_why"`
	Measurement *result.Measurement `json:"measured"` // the one that decides; null: none
	Evidence    result.Evidence     `json:"evidence"` // of the measurement, else of the recommendation; "" where there is neither
	Verdict     Verdict             `json:"verdict"`
	Summary     string              `json:"summary"` // one line in plain words
	Next        string              `json:"next"`    // what to type: "command   # note", or "# note" where no command does it

	worst int // rank of the worst finding: which of two recommended levers comes first
}
