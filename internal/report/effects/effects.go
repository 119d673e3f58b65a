// Package effects reports experiments: what a change of a factor's level does to
// each response, for people (text, HTML, Markdown) and for programs (JSON, CSV,
// the Go benchmark format).
package effects

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/screen"
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

// WriteCSV writes one row a run (RFC 4180, with a heading), void, failed and warm-up
// ones included: where and when it ran, the level of each factor, the value of each
// response in its base unit, and conditions. What there is none of is empty. With
// several experiments the columns are those of all of them.
func WriteCSV(w io.Writer, s *Set) error {
	var factors, responses, conditions, heads []string
	add := func(list *[]string, v string) bool {
		if slices.Contains(*list, v) {
			return false
		}
		*list = append(*list, v)
		return true
	}
	for i := range s.Reports {
		x := s.Reports[i].head()
		for _, f := range x.Factors {
			add(&factors, f.Name)
		}
		for _, r := range x.Responses {
			if add(&responses, r.Name) {
				h := "response." + r.Name
				if r.Unit != "" {
					h += "." + r.Unit
				}
				heads = append(heads, h)
			}
		}
		seen := map[string]bool{}
		for _, run := range s.Reports[i].Runs {
			for k := range run.Conditions {
				if !seen[k] {
					seen[k] = true
					add(&conditions, k)
				}
			}
		}
	}
	slices.Sort(conditions)
	row := []string{"experiment", "block", "plot", "slot", "cell", "aa", "attempt", "status", "reason", "contaminated",
		"start", "seconds", "boot", "operations"}
	fixed := len(row)
	for _, f := range factors {
		row = append(row, "factor."+f)
	}
	row = append(row, heads...)
	for _, c := range conditions {
		row = append(row, "condition."+c)
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(screen.Cells(row)); err != nil {
		return err
	}
	for i := range s.Reports {
		x := s.Reports[i].head()
		for j := range s.Reports[i].Runs {
			r := &s.Reports[i].Runs[j]
			cell := cellOf(x, r)
			row = append(row[:0], s.Reports[i].Dir, strconv.Itoa(r.Block), strconv.Itoa(r.Plot), strconv.Itoa(r.Slot),
				strconv.Itoa(r.Cell), strconv.FormatBool(r.Block >= x.Planned()),
				strconv.Itoa(r.Attempt), string(r.Status), r.Reason, r.Contaminated, r.Start.UTC().Format(time.RFC3339Nano),
				decimal(r.Seconds), r.Boot, "")
			if r.Operations > 0 {
				row[fixed-1] = strconv.FormatInt(r.Operations, 10)
			}
			for _, f := range factors {
				row = append(row, cell.Levels[f])
			}
			for _, name := range responses {
				row = append(row, optional(r.Values, name))
			}
			for _, c := range conditions {
				row = append(row, optional(r.Conditions, c))
			}
			if err := out.Write(screen.Cells(row)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func optional(m map[string]float64, name string) string {
	if v, ok := m[name]; ok {
		return decimal(v)
	}
	return ""
}

// cellOf is a run's cell; an empty one for an index that is out of range.
func cellOf(x *result.Experiment, r *result.Run) result.Cell {
	if r.Cell < 0 || r.Cell >= len(x.Cells) {
		return result.Cell{}
	}
	return x.Cells[r.Cell]
}
