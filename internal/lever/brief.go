package lever

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/document"
)

// MostSteps is how many steps one screen shows.
const MostSteps = 3

const (
	shown = 25 // columns of 80 for what shows a lever, beside the others
	noted = 70 // of a line for a step's note, and the lever that it is of
)

// Brief shows the levers that may be worth something, a line each, and what to do about them, at most so many of both.
// The one named first comes first. why says in a few words what shows a lever; check is what to type for the commands
// of checks.
func Brief(levers []Lever, first string, most int, check string, why func(*Lever) string) []document.Section {
	open := slices.DeleteFunc(slices.Clone(levers), func(l Lever) bool { return !l.Open() })
	if i := slices.IndexFunc(open, func(l Lever) bool { return l.Name == first }); i > 0 {
		l := open[i]
		open = slices.Insert(slices.Delete(open, i, i+1), 0, l)
	}
	ofService := slices.ContainsFunc(levers, func(l Lever) bool { return l.Of == ActiveTime })
	t := &document.Table{Columns: append(document.Headings("lever", "likely", "at most"), document.Column{Head: "verdict"},
		document.Column{Head: "what shows it"})}
	if !ofService {
		t.Columns = slices.Delete(t.Columns, 1, 2)
	}
	var more, little, unmeasured []string
	var steps []document.Block
	for i := range open {
		l := &open[i]
		if i < max(1, most) {
			cells := []document.Cell{document.Text(l.Title()), l.likely(), l.Most(), l.Verdict.Cell(),
				document.Text(Clip(why(l), shown))}
			switch {
			case !ofService:
				cells = slices.Delete(cells, 1, 2)
			case l.Of != ActiveTime:
				cells[1], cells[2] = document.Text("unknown"), document.Text("unknown")
			}
			t.Add(cells...)
		} else {
			more = append(more, l.Title())
		}
		if l.Name == first || l.Estimate == nil || *l.Estimate >= Margin {
			steps = append(steps, l.brief(check, min(2, 1+most))...)
		}
	}
	for i := range levers {
		switch l := &levers[i]; {
		case l.Verdict == Negligible && l.AtMost != nil:
			little = append(little, l.Title())
		case l.Verdict == Negligible:
			unmeasured = append(unmeasured, l.Title())
		}
	}
	var rest []string
	if most == 0 {
		more, little, unmeasured = nil, nil, nil
	}
	if more != nil {
		rest = append(rest, "also possible: "+strings.Join(more, ", "))
	}
	if little != nil {
		rest = append(rest, "nothing to gain, or below "+Percent(Margin)+": "+strings.Join(little, ", "))
	}
	if unmeasured != nil {
		rest = append(rest, "not measured: "+strings.Join(unmeasured, ", "))
	}
	return []document.Section{
		document.Titled("What could be gained", t, document.Line{Text: Sentences(rest...), Tone: document.Quiet}),
		document.Titled(nextTitle, steps[:min(max(1, most), MostSteps, len(steps))]...)}
}

// brief is its first step, with a note of so many lines: what it is for, without how to take it back.
func (l *Lever) brief(check string, lines int) []document.Block {
	s := *l
	s.Next.Note = Clip(s.Next.Note, lines*noted-len(s.Title()))
	if s.Next.Command != "" {
		s.Try = ""
	}
	if ids := s.Findings(); strings.Contains(s.Next.Command, "\n") && len(ids) > 0 {
		s.Next = Next{Command: check, Note: "the commands of " + ids[0]}
	}
	return s.steps()
}

// Shown says in a few words what shows it: what was measured, the checks that found something, or the first evidence.
func (l *Lever) Shown() string {
	if c := l.measured(); known(l.Measurement()) {
		return strings.Join(append([]string{c.Text}, c.More[:min(1, len(c.More))]...), " ")
	}
	if ids := l.Findings(); len(ids) > 0 {
		return "check " + strings.Join(ids, ", ")
	}
	return l.Why()
}

// Clip has so many characters of a text's first clause at most, and ends between words.
func Clip(s string, most int) string {
	s, _, _ = strings.Cut(s, "; ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	const more = "..."
	short := ""
	for w := range strings.FieldsSeq(s) {
		if utf8.RuneCountInString(short+" "+w+more) > most {
			break
		}
		short = strings.TrimSpace(short + " " + w)
	}
	return short + more
}
