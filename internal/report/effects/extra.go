package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
)

// extra is what one study's report has beside its effects: a verdict by a rule of
// its own, or the table of the document that it repeats. A study names it with
// section = "..." and the record keeps the name.
type extra interface {
	// verdict is one by a rule of its own, in sentences; nil for none.
	verdict() []string
	// section is for people. The ids of pictures in it begin with key.
	section(key string) document.Section
	// json goes into the report's JSON below "section", and has its name as "name".
	json() any
}

// decider is an extra whose verdict, by a rule of its own, is that of the study: it
// stands at the top of the report and gives the outcome, in place of the primary
// effects. Those share in it and are shown below as all others.
type decider interface {
	extra
	// outcome is the answer; verdict has its sentences, at least one.
	outcome() analysis.Outcome
}

// decider is the extra of the record that decides; nil for none.
func (r *Report) decider() decider {
	d, _ := r.extra().(decider)
	return d
}

// extras lists them by name. Each gets the runs that count, in the order recorded.
var extras = map[string]func(a *analysis.Analysis, runs []result.Run) extra{
	"log":   newLogDevice,
	"smt":   newSMT,
	"table": newCross,
}

// extra is that of the record; nil where it names none, or one that is not known.
func (r *Report) extra() extra {
	build, ok := extras[r.head().Section]
	if !ok {
		return nil
	}
	return build(r.Analysis, r.Analysis.Counted())
}

// section is what people see of the extra; nil for none. Its verdict begins it, except
// where the top has it already: where it decides, or for want of a primary effect.
func (r *Report) section(key string) *document.Section {
	e := r.extra()
	if e == nil {
		return nil
	}
	s := e.section(key)
	if _, decides := e.(decider); !decides && len(deciding(r.Analysis)) > 0 {
		s.Blocks = append(document.Lines(document.Strong, e.verdict()...), s.Blocks...)
	}
	return &s
}

// unknownSection is the warning for a record of a newer hostlab; "" where there is
// nothing to warn of.
func (r *Report) unknownSection() string {
	name := r.head().Section
	if _, ok := extras[name]; ok || name == "" {
		return ""
	}
	return fmt.Sprintf("the record names %q as a section of its report, which this hostlab does not have: a newer one shows it", name)
}

// cautions are the warnings that were known before the first run.
func (r *Report) cautions() (list []string) {
	x := r.head()
	for _, k := range slices.Sorted(maps.Keys(x.Context)) {
		if strings.HasPrefix(k, result.CautionKey) {
			list = append(list, x.Context[k])
		}
	}
	return list
}

// namedSection is the JSON of a section that is not known.
type namedSection struct {
	Name string `json:"name"`
}

// sectionJSON is what the document has below "section"; nil for none.
func (r *Report) sectionJSON() any {
	if e := r.extra(); e != nil {
		return e.json()
	}
	if name := r.head().Section; name != "" {
		return namedSection{name}
	}
	return nil
}
