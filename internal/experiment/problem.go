package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/workload"
)

// Problem is one thing that is wrong with a study, or with what the command line
// set in it.
type Problem struct {
	File string
	Line int    // from 1; 0: the file as a whole
	Text string // what is wrong and what was expected
	Near string // what was perhaps meant; may be ""
}

// Error writes a problem as compilers do, so that editors find the place.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.File != "" {
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	if p.Near != "" {
		b.WriteString("; did you mean " + p.Near + "?")
	}
	return b.String()
}

// Problems are all that is wrong with a study, in the order of the file. There is
// at least one.
type Problems struct{ List []Problem }

// Error has a line for each problem.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, x := range p.List {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// collector holds problems while a study is read.
type collector struct{ list []Problem }

// maxProblems is how many are reported: more come from one mistake.
const maxProblems = 50

func (c *collector) add(at place, format string, a ...any) { c.addHint(at, "", format, a...) }

func (c *collector) addHint(at place, near, format string, a ...any) {
	c.list = append(c.list, Problem{at.source, at.line, fmt.Sprintf(format, a...), near})
}

// err returns what was collected, in the order of the file; the command line and the whole file come last.
func (c *collector) err() error {
	if len(c.list) == 0 {
		return nil
	}
	slices.SortStableFunc(c.list, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return a.Line - b.Line
	})
	c.list = slices.Compact(c.list)
	if more := len(c.list) - maxProblems; more > 0 {
		c.list = append(c.list[:maxProblems:maxProblems], Problem{File: c.list[0].File,
			Text: fmt.Sprintf("and %d more problems", more)})
	}
	return &Problems{c.list}
}

// param reports an error of a key or a parameter.
func (c *collector) param(at place, name string, p *workload.ParamError) {
	text := name + ": " + p.Text
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	c.add(at, "%s", text)
}

// params reports each error of a parameter at its place.
func (c *collector) params(err error, at map[string]place, nowhere place) {
	for _, e := range flat(err) {
		if e == nil {
			continue
		}
		x, ok := errors.AsType[*workload.ParamError](e)
		if !ok {
			c.add(nowhere, "%v", e)
			continue
		}
		where, ok := at[x.Name]
		if !ok {
			table, _, _ := strings.Cut(x.Name, ".")
			if where, ok = at[table]; !ok {
				where = nowhere
			}
		}
		c.param(where, x.Name, x)
	}
}

// flat takes joined errors apart.
func flat(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // errors.Join's own type, not what it wraps
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flat(e)...)
		}
		return out
	}
	return []error{err}
}
