package effects

import (
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/screen"
)

// least is the room from which on one screen has a section; one that is not named here takes middling.
var least = map[string]int{effectsTitle: 0, sameTitle: 0, harmTitle: 0, "Next": 0, "More": 0, differTitle: 0, takesTitle: 2,
	"Interactions": 3, floorTitle: 5, intervalsTitle: 6}

const (
	middling       = 4
	effectsTitle   = "Effects"
	sameTitle      = "The same effects side by side"
	differTitle    = "Not the same in all of them"
	harmTitle      = "Ended early, to be safe"
	takesTitle     = "What deciding would take"
	floorTitle     = "Noise floor (A/A)"
	intervalsTitle = "About the intervals"
)

// Brief is the report on one screen: the answer, the effects, and what to do next.
func (s *Set) Brief() *document.Document {
	all, again := s.Document(), "hostlab report"
	for i := range s.Reports {
		again += " " + screen.Operand(s.Reports[i].Dir)
	}
	return document.Brief(func(most int) *document.Document { return abridge(all, most, again+" --all") })
}

// abridge has so many of each thing at most, and says what to type again for the rest.
func abridge(all *document.Document, most int, again string) *document.Document {
	d, cut := *all, false
	if n := max(2, most); len(d.Answer) > n {
		d.Answer, cut = append(slices.Clone(d.Answer[:n]), document.Line{Text: screen.Count(len(d.Answer)-n, "more sentence") +
			": --all.", Tone: document.Quiet}), true
	}
	if most < 5 {
		d.About = d.About[:min(2, len(d.About))]
	}
	d.Warnings = document.AtMost(max(1, most-2), d.Warnings, "warning")
	d.Sections = nil
	for _, s := range all.Sections {
		need, known := least[s.Title]
		if !known {
			need = middling
		}
		if strings.HasPrefix(s.Title, "Experiment ") && strings.Contains(s.Title, ": ") { // of one among several
			need = 6
		}
		switch {
		case s.Where == document.Page:
			continue
		case most < need:
			cut = true
			continue
		}
		s.Blocks = slices.Clone(s.Blocks)
		for i, b := range s.Blocks {
			switch b := b.(type) {
			case document.List:
				if n := max(1, most); len(b) > n {
					s.Blocks[i], cut = append(slices.Clone(b[:n]), document.Line{Text: screen.Count(len(b)-n, "more point") + ": --all"}), true
				}
			case *document.Table:
				if n := 1 + 2*most; len(b.Rows) > n {
					t := *b
					t.Rows, cut = slices.Clone(b.Rows), true
					slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return striking(b) - striking(a) })
					t.Rows = t.Rows[:n]
					last := &t.Rows[n-1].Notes
					if most == 0 {
						*last = nil
					}
					*last = append(slices.Clone(*last), document.Line{Text: screen.Count(len(b.Rows)-n, "more row") + ": --all",
						Tone: document.Quiet})
					s.Blocks[i] = &t
				}
			}
		}
		d.Sections = append(d.Sections, s)
	}
	if cut {
		more := document.Commands{{Why: "all that was found", Line: again}}
		if n := len(d.Sections) - 1; n >= 0 && d.Sections[n].Title == "More" {
			d.Sections[n].Blocks = append(d.Sections[n].Blocks, more)
		} else {
			d.Sections = append(d.Sections, document.Titled("More", more))
		}
	}
	return &d
}

// striking is 1 of a row with a cell that stands out: what costs, or is better.
func striking(r document.Row) int {
	if slices.ContainsFunc(r.Cells, func(c document.Cell) bool { return c.Tone == document.Caution || c.Tone == document.Notice }) {
		return 1
	}
	return 0
}
