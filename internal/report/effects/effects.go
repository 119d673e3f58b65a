// Package effects reports experiments: what a change of a factor's level does to
// each response, for people (text, HTML, Markdown) and for programs (JSON, CSV,
// the Go benchmark format).
package effects

import (
	"io"
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

	made *extra
}

// Set is what one report is about: one experiment, or several to compare.
type Set struct {
	Reports []Report
	Version string // of hostlab
}

// Format is one for programs; those for people are package document's.
type Format struct {
	Name, About string
	Write       func(io.Writer, *Set) error
}

// Formats are all of these, in the order of help.
var Formats = []Format{
	{"csv", "one row per run, in base units", WriteCSV},
}

// Outcome is the highest one of all experiments: of one whose section decides by a rule of
// its own what that says, else that of its primary effects.
func (s *Set) Outcome() analysis.Outcome {
	worst := analysis.NoneBeyond
	for i := range s.Reports {
		r := &s.Reports[i]
		if own := r.extra().outcome; own != nil {
			worst = max(worst, r.Analysis.Least(), *own)
		} else {
			worst = max(worst, r.Analysis.Outcome())
		}
	}
	return worst
}

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
	for _, w := range slices.Concat(r.Warnings, r.cautions(), r.Analysis.Warnings) {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// baselines of a contrast's factors, in their order.
func baselines(x *result.Experiment, c *result.Contrast) []string {
	out := make([]string, len(c.Factors))
	for i, name := range c.Factors {
		if f := x.Factor(name); f != nil {
			out[i] = f.Baseline
		}
	}
	return out
}
