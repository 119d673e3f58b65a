package effects

import (
	"fmt"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
)

// extra is what one study's report has beside its effects: a verdict by a rule of its own, or the
// table of the document that it repeats. A study names it with section = "..." and the record keeps
// the name. The zero extra is none.
type extra struct {
	// verdict is one by a rule of its own, in sentences; nil for none.
	verdict []string
	// outcome is set where that verdict is the study's: it stands at the top of the report and gives the
	// outcome, in place of the primary effects. Those share in it and are shown below as all others.
	outcome *analysis.Outcome
	// section is for people. The ids of pictures in it begin with key.
	section func(key string) document.Section
	// data goes into the report's JSON below "section", and has its name as "name".
	data any
}

// extras lists them by name. Each gets the runs that count, in the order recorded.
var extras = map[string]func(a *analysis.Analysis, runs []result.Run) extra{
	"log": func(a *analysis.Analysis, runs []result.Run) extra {
		s := newLogDevice(a, runs)
		return extra{verdict: s.verdict(), section: s.section, data: s.LogDevice}
	},
	"smt": func(a *analysis.Analysis, runs []result.Run) extra {
		s := siblings{analysis.NewSiblings(a.Experiment, runs), a.Experiment}
		return extra{verdict: s.verdict(), outcome: new(s.outcome()), section: s.section, data: s.Siblings}
	},
	"table": func(a *analysis.Analysis, runs []result.Run) extra {
		s := newCross(a, runs)
		return extra{section: s.section, data: s}
	},
}

// extra is that of the record. Of one that is not known, it has the name alone.
func (r *Report) extra() *extra {
	if r.made == nil {
		r.made = &extra{}
		name := r.head().Section
		if build, ok := extras[name]; ok {
			*r.made = build(r.Analysis, r.Analysis.Counted())
		} else if name != "" {
			r.made.data = map[string]string{"name": name}
		}
	}
	return r.made
}

// section is what people see of the extra; none for none. Its verdict begins it, except
// where the top has it already: where it decides, or for want of a primary effect.
func (r *Report) section(key string) (out []document.Section) {
	e := r.extra()
	if e.section == nil {
		return nil
	}
	s := e.section(key)
	if e.outcome == nil && len(deciding(r.Analysis)) > 0 {
		s.Blocks = append(document.Lines(document.Strong, e.verdict...), s.Blocks...)
	}
	return []document.Section{s}
}

// cautions are the warnings that were known before the first run, and that of a record of a newer hostlab.
func (r *Report) cautions() (list []string) {
	x := r.head()
	if x.Section != "" && r.extra().section == nil {
		list = append(list,
			fmt.Sprintf("the record names %q as a section of its report, which this hostlab does not have: a newer "+
				"one shows it", x.Section))
	}
	for _, p := range x.Places {
		list = append(list, p.Cautions...)
	}
	return list
}
