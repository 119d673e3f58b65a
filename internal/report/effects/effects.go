// Package effects reports experiments: what a change of a factor's level does to
// each response, for people (text, HTML, Markdown) and for programs (JSON, CSV,
// the Go benchmark format).
package effects

import (
	"slices"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
)

// Report is one experiment with its record.
type Report struct {
	Dir      string // as the user named it
	Analysis *analysis.Analysis
	Study    []byte // the study file
	Runs     []result.Run
	Warnings []string // of reading the record: what was dropped, levels still applied
	Restore  bool     // levels are still applied: advise to put them back
}

// Set is what one report is about: one experiment, or several to compare.
type Set struct {
	Reports []Report
	Version string // of hostlab
}

// Outcome is what a script wants to know of a set.
type Outcome int

// The outcomes, in rising order of what asks for attention.
const (
	NoEffect Outcome = iota // every primary effect is within its margin, or the section's rule says none
	Open                    // a primary effect is inconclusive, unresolved or void, or there is none, or the rule decides nothing, or runs of a cell fail
	Effect                  // a primary effect is beyond its margin, or the rule says that there is one
)

// Outcome is the highest one of all experiments: of one whose section decides by a
// rule of its own what that says, else the highest one among its primary effects. One
// with no primary effect that was judged is open.
func (s *Set) Outcome() Outcome {
	worst := NoEffect
	for i := range s.Reports {
		if s.Reports[i].Analysis.Failing() != "" {
			worst = max(worst, Open) // a claim of no effect would be of those runs that did not fail
		}
		if d := s.Reports[i].decider(); d != nil {
			worst = max(worst, d.outcome())
			continue
		}
		judged := false
		for _, e := range s.Reports[i].Analysis.Effects {
			if !primary(&e) {
				continue
			}
			judged = true
			switch e.Verdict {
			case analysis.CostsMore, analysis.CostsLess:
				worst = Effect
			case analysis.NoEffect:
			default:
				worst = max(worst, Open)
			}
		}
		if !judged {
			worst = max(worst, Open)
		}
	}
	return worst
}

// primary effects share in alpha and decide.
func primary(e *analysis.Effect) bool { return e.Contrast.Primary && e.Response.Primary }

// interaction reports whether an effect is how one factor changes another's.
func interaction(e *analysis.Effect) bool { return len(e.Contrast.Factors) > 1 }

// head is never nil, so that a writer need not ask.
func (r *Report) head() *result.Experiment {
	if r.Analysis.Experiment == nil {
		return &result.Experiment{}
	}
	return r.Analysis.Experiment
}

// warnings are those of the record, then those of the analysis, each once.
func (r *Report) warnings() []string {
	var out []string
	for _, w := range slices.Concat(r.Warnings, []string{r.unknownSection()}, r.cautions(), r.Analysis.Warnings) {
		if w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// baselines of a contrast's factors, in their order.
func baselines(x *result.Experiment, c *result.Contrast) []string {
	var out []string
	for _, name := range c.Factors {
		b := ""
		for _, f := range x.Factors {
			if f.Name == name {
				b = f.Baseline
			}
		}
		out = append(out, b)
	}
	return out
}
