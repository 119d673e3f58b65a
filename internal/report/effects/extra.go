package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/report/picture"
	"hostlab/internal/result"
)

// extra is what one study's report has beside its effects: a verdict by a rule of
// its own, or the table of the document that it repeats. A study names it with
// section = "..." and the record keeps the name.
type extra interface {
	// content is for people. Ids in it begin with key, so that several experiments
	// can stand on one page.
	content(key string) content
	// json goes into the report's JSON below "section", and has its name as "name".
	json() any
}

// decider is an extra whose verdict, by a rule of its own, is that of the study: it
// stands at the top of the report and gives the outcome, in place of the primary
// effects. Those share in it and are shown below as all others.
type decider interface {
	extra
	// outcome is the answer; Told of the content are its sentences, at least one.
	outcome() Outcome
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

// content is what people see of an extra, in every format.
type content struct {
	Title   string
	Told    []string // a verdict by a rule of its own, in sentences
	Lead    []string // paragraphs before the tables
	Grids   []grid
	Figures []picture.Figure // for the page only; each says nothing that no table says
	Notes   []string         // paragraphs behind the tables
}

// grid is a table whose cells have several lines: what it is, then how sure.
type grid struct {
	Title  string
	Lead   string
	Corner string   // what its rows are
	Head   []string // of the columns
	Rows   []gridRow
}

// gridRow has a cell for each column, or one across all of them.
type gridRow struct {
	Label  string
	Cells  []gridCell
	Across gridCell // lines, where there are no Cells
}

// gridCell is the figure first, then its interval and n. Empty: nothing to show.
type gridCell []string

// extra is that of the record; nil where it names none, or one that is not known.
func (r *Report) extra() extra {
	build, ok := extras[r.head().Section]
	if !ok {
		return nil
	}
	return build(r.Analysis, r.used())
}

// used are the runs that count: no warm-up, and none that is void.
func (r *Report) used() []result.Run {
	runs := make([]result.Run, len(r.Analysis.Used))
	for i, run := range r.Analysis.Used {
		runs[i] = *run
	}
	return runs
}

// section is the content of the extra; nil for none. Its verdict is left out where it
// stands at the top already: where it decides, or for want of a primary effect.
func (r *Report) section(key string) *content {
	e := r.extra()
	if e == nil {
		return nil
	}
	c := e.content(key)
	if _, decides := e.(decider); decides || len(deciding(r.Analysis)) == 0 {
		c.Told = nil
	}
	return &c
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

// absentText says which levels were left out of the design, and why; "" for none.
func absentText(x *result.Experiment) string {
	type group struct{ factor, reason string }
	var order []group
	levels := map[group][]string{}
	for _, a := range x.Absent {
		g := group{a.Factor, a.Reason}
		if levels[g] == nil {
			order = append(order, g)
		}
		if !slices.Contains(levels[g], a.Level) {
			levels[g] = append(levels[g], a.Level)
		}
	}
	var parts []string
	for _, g := range order {
		part := g.factor + " " + strings.Join(levels[g], ", ")
		if g.reason != "" {
			part += " (" + g.reason + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not on this host: " + strings.Join(parts, "; ") + "."
}
