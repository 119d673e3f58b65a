package effects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/picture"
)

// comparison is what several experiments have to say beside each other.
type comparison struct {
	Rows     []compared
	Warnings []string // what speaks against comparing, the same thing once
}

// compared is one effect in several experiments.
type compared struct {
	analysis.Row
	Name  string // "wall: level 6 against 1"
	Notes []string
}

// compare lines up the effects of all experiments. Experiments are named by their
// directories, which is how the reader knows them.
func (s *Set) compare() comparison {
	all := make([]*analysis.Analysis, len(s.Reports))
	for i := range s.Reports {
		one := *s.Reports[i].Analysis
		one.Experiment = s.Reports[i].head()
		all[i] = &one
	}
	c := analysis.Compare(all)
	out := comparison{Warnings: slices.Concat(s.copies(), s.differences(c.Differences))}
	for _, row := range c.Rows {
		one := compared{Row: row}
		var lack, names []string
		for i, e := range row.Effects {
			if e == nil {
				lack = append(lack, s.Reports[i].Dir)
			} else if name := effectName(s.Reports[i].head(), e); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if one.Name = names[0]; len(names) > 1 {
			one.Notes = append(one.Notes, "not named alike everywhere: "+strings.Join(names, " | "))
		}
		if row.Apart {
			one.Notes = append(one.Notes, "the effect is not the same in all: two intervals do not overlap")
		}
		if len(lack) > 0 {
			one.Notes = append(one.Notes, "not in "+strings.Join(lack, ", "))
		}
		out.Rows = append(out.Rows, one)
	}
	return out
}

// copies warns of one experiment under several directories.
func (s *Set) copies() []string {
	var out []string
	for i := range s.Reports {
		var same []string
		for k := range s.Reports {
			if id := s.Reports[i].head().ID; id != "" && s.Reports[k].head().ID == id {
				if k < i {
					same = nil // it was warned of there
					break
				}
				same = append(same, s.Reports[k].Dir)
			}
		}
		if len(same) > 1 {
			out = append(out, fmt.Sprintf("%s are the same experiment, shown %d times and confirmed by nothing",
				strings.Join(same, " and "), len(same)))
		}
	}
	return out
}

// differences are sentences about conditions. What follows from the studies not
// being the same stands with that, in one.
func (s *Set) differences(all []analysis.Difference) []string {
	study := slices.IndexFunc(all, func(d analysis.Difference) bool { return d.What == analysis.TheStudy })
	var out, alike, partly []string
	for i, d := range all {
		switch {
		case i == study:
		case study < 0, !d.InStudy:
			out = append(out, d.What+": "+s.values(d))
		case slices.Contains(d.Values, ""):
			// Without "margin of", "unit of" and so on it is one thing that some lack.
			name := cmp.Or(d.Of, d.What)
			if !slices.Contains(partly, name) {
				partly = append(partly, name)
			}
		default:
			alike = append(alike, d.What+": "+s.values(d))
		}
	}
	if study >= 0 {
		text := "the studies are not the same: " + s.values(all[study])
		if len(alike) > 0 {
			text += "; in them differ " + strings.Join(alike, "; ")
		}
		if len(partly) > 0 {
			text += "; not all of them have " + strings.Join(partly, ", ")
		}
		out = append([]string{text}, out...)
	}
	return out
}

// hashDigits is how much of a hash tells studies apart for a reader.
const hashDigits = 12

// values lists those of a condition, each with the experiments that have it.
func (s *Set) values(d analysis.Difference) string {
	var order []string
	dirs := map[string][]string{}
	for i, v := range d.Values {
		switch r := []rune(v); {
		case v == "":
			v = "not recorded"
		case d.What == analysis.TheStudy && len(r) > hashDigits:
			v = string(r[:hashDigits])
		default:
			v = picture.Short(v, 60)
		}
		if dirs[v] == nil {
			order = append(order, v)
		}
		dirs[v] = append(dirs[v], s.Reports[i].Dir)
	}
	for i, v := range order {
		order[i] = v + " (" + strings.Join(dirs[v], ", ") + ")"
	}
	return strings.Join(order, " | ")
}

// beside are the first primary effects of several experiments, in a sentence each.
func (s *Set) beside() (out []document.Line) {
	for _, row := range s.compare().Rows {
		var each []string
		primary := false
		for i, e := range row.Effects {
			if e != nil {
				primary = primary || e.Primary()
				each = append(each, amount(e.Value, &e.Response)+" in "+s.Reports[i].Dir)
			}
		}
		if primary && len(out) < topSentences {
			notes := ""
			if len(row.Notes) > 0 {
				notes = "; " + row.Notes[0]
			}
			out = append(out, document.Line{Text: row.Name + ": " + strings.Join(each, ", ") + notes + "."})
		}
	}
	if out == nil {
		out = []document.Line{{Text: "The experiments have no primary effect that can be compared."}}
	}
	return out
}

// compared are the same effects of several experiments below each other, and then what
// speaks against comparing them.
func (s *Set) compared() []document.Section {
	c := s.compare()
	t := &document.Table{Columns: append(document.Headings("effect", "experiment", "change", "n"),
		document.Column{Head: "verdict"})}
	t.Columns[1].Right = false
	for _, row := range c.Rows {
		notes := document.Points(row.Notes...)
		for i, e := range row.Effects {
			if e == nil {
				continue
			}
			r := &s.Reports[i]
			t.Add(document.Text(row.Name), document.Text(r.Dir), changeCell(e), countCell(e),
				verdictCell(r.head(), e)).Notes = notes
			notes = nil
		}
	}
	return []document.Section{document.Titled(sameTitle, t),
		document.Titled(differTitle, document.Points(c.Warnings...)).Closed()}
}
