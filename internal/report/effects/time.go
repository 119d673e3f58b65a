package effects

import (
	"strings"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// partPrefix begins the names of responses that are parts of a run's time.
const partPrefix = "part_"

// segment is a part of a run's time in a bar.
func segment(p *result.Response, seconds float64) document.Segment {
	name := explain.PartName(strings.TrimPrefix(p.Name, partPrefix))
	return document.Segment{Class: name.Class(), Name: strings.TrimPrefix(label(p), "Part of the elapsed time: "),
		Value: seconds,
		Text:  result.Format(seconds, "s")}
}

// time has a bar for each combination of levels: the parts of a run's time. A section of the
// study's own may say more of them.
func (r *Report) time() document.Section {
	x, runs := r.head(), r.Analysis.Counted()
	var parts []*result.Response
	for i := range x.Responses {
		if p := &x.Responses[i]; strings.HasPrefix(p.Name, partPrefix) && p.Unit == "s" {
			parts = append(parts, p)
		}
	}
	s := document.Section{Title: "What the time went to"}
	if len(parts) == 0 || x.Section == "log" {
		return s
	}
	b := &document.Bars{Lead: "Means of the runs that count.",
		Table: &document.Table{Columns: []document.Column{{Head: "run"}}}}
	for _, p := range parts {
		b.Table.Columns = append(b.Table.Columns, document.Column{Head: segment(p, 0).Name, Right: true})
	}
	for i := range x.Cells {
		bar := document.Bar{Name: cellName(x, &x.Cells[i])}
		row := []document.Cell{document.Text(bar.Name)}
		for _, p := range parts {
			var all []float64
			for _, run := range runs {
				if v, ok := run.Values[p.Name]; ok && run.Cell == i {
					all = append(all, v)
				}
			}
			if len(all) == 0 {
				row = append(row, document.Text("unknown"))
				continue
			}
			g := segment(p, stat.Mean(all, nil))
			bar.Segments, row = append(bar.Segments, g), append(row, document.Number(g.Value, g.Text))
		}
		b.Rows = append(b.Rows, bar)
		b.Table.Add(row...)
	}
	s.Blocks = append(s.Blocks, b)
	return s
}
