package experiment

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a study, or with what the command line
// set in it.
type Problem struct {
	File         string
	Line, Column int    // from 1, the column in characters; 0: the file as a whole
	Text         string // what is wrong and what was expected
	Hint         string // what was perhaps meant; may be ""
}

// Error writes a problem as compilers do, so that editors find the place.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.File != "" {
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("; did you mean " + p.Hint + "?")
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
