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

// cross is the section "table": every combination of levels, in the median of each
// response that decides, and of energy and throttled time. It is also the section's JSON.
type cross struct {
	x      *result.Experiment
	Name   string       `json:"name"`
	Alpha  float64      `json:"alpha"`
	Tables []crossTable `json:"tables"`
}

// crossTable is the cells of one response, in the record's order.
type crossTable struct {
	response result.Response
	Response string                 `json:"response"`
	Unit     string                 `json:"unit"`
	Cells    []analysis.Combination `json:"cells"`
}

func newCross(a *analysis.Analysis, runs []result.Run) *cross {
	out := &cross{x: a.Experiment, Name: "table", Alpha: analysis.NominalAlpha}
	for _, r := range tabled(out.x, runs) {
		out.Tables = append(out.Tables, crossTable{r, r.Name, r.Unit, analysis.Combinations(out.x, runs, &r)})
	}
	return out
}

// besideThem are responses of the runner's own that explain the others and get a table
// too where a study records them: what a slow clock adds, and what power is used for.
var besideThem = []string{"emulated_throttled_s", "energy_j", "energy_op_j"}

// tabled are the responses that get a table: those shown, and of besideThem those that
// some run has.
func tabled(x *result.Experiment, runs []result.Run) []result.Response {
	out := shown(x)
	for _, r := range x.Responses {
		has := slices.ContainsFunc(runs, func(run result.Run) bool { _, ok := run.Values[r.Name]; return ok })
		listed := slices.ContainsFunc(out, func(o result.Response) bool { return o.Name == r.Name })
		if has && !listed && slices.Contains(besideThem, r.Name) {
			out = append(out, r)
		}
	}
	return out
}

// axes are the factors of the rows and that of the columns; "" for one factor alone,
// which then has the rows.
func (c *cross) axes() (rows []string, column string) {
	for _, f := range c.x.Factors {
		rows = append(rows, f.Name)
	}
	if len(rows) < 2 {
		return rows, ""
	}
	return rows[:len(rows)-1], rows[len(rows)-1]
}

func (c *cross) section(string) document.Section {
	out := document.Section{Title: "Every combination"}
	rows, column := c.axes()
	if len(rows) == 0 || len(c.Tables) == 0 {
		out.Blocks = document.Lines(document.Quiet, "The record has no factor or no response to make a table of.")
		return out
	}
	out.Blocks = document.Lines(document.Quiet,
		fmt.Sprintf(
			"Medians of the blocks, %s. Changes are paired within blocks; their %s intervals are nominal: each holds by "+
				"itself, not corrected for their number nor for the looks.",
			c.x.Evidence, confidence(analysis.NominalAlpha)))
	for i := range c.Tables {
		r := &c.Tables[i]
		// The last factor of the rows first: it is the one that stands closest.
		for k, f := range slices.Backward(rows) {
			out.Blocks = append(out.Blocks, c.table(r, rows, column, f, k == len(rows)-1))
		}
	}
	marked, few := 0, false
	for _, cell := range c.Tables[0].Cells {
		marked += cell.Marked
		for _, e := range cell.Against {
			few = few || analysis.Student(c.x, e.Effect.N, c.Alpha)
		}
	}
	if few {
		out.Blocks = append(out.Blocks, document.Line{Text: "With so few superblocks, changes and intervals are Student's.",
			Tone: document.Quiet})
	}
	if marked > 0 {
		out.Blocks = append(out.Blocks, contaminatedMark)
	}
	return out
}

// contaminatedMark explains the letter c after an n.
var contaminatedMark = document.Line{Text: "c: contaminated runs among them, see the warning.", Tone: document.Quiet}

// table compares the levels of one factor of the rows. The first table has the
// medians too.
func (c *cross) table(r *crossTable, rows []string, column, factor string, medians bool) *document.Table {
	base := c.x.Factor(factor).Baseline
	title := label(&r.response)
	if better := r.response.Better; better != "" {
		title += " (" + better + " is better)"
	}
	t := &document.Table{Title: title + ", by " + strings.Join(slices.DeleteFunc(slices.Concat(rows, []string{column}),
		func(s string) bool { return s == "" }), ", ")}
	t.Lead = "Changes are against " + factor + " " + base
	if len(rows) > 1 || column != "" {
		t.Lead += ", with all else the same"
	}
	if !medians {
		t.Title += ": against " + factor + " " + base
	}
	t.Lead += "."
	columns, heads := []string{""}, []string{"median"}
	if column != "" {
		columns, heads = c.x.Factor(column).Levels, nil
		for _, l := range columns {
			heads = append(heads, column+" "+l)
		}
	}
	var names []string
	at := map[string]map[string]string{}
	for _, cell := range r.Cells {
		if !medians && cell.Levels[factor] == base {
			continue
		}
		var parts []string
		for _, f := range rows {
			parts = append(parts, cell.Levels[f])
		}
		name := strings.Join(parts, ", ")
		if at[name] == nil {
			at[name] = cell.Levels
			names = append(names, name)
		}
	}
	for _, name := range names {
		row := []document.Cell{document.Text(name)}
		for _, l := range columns {
			row = append(row, r.cell(at[name], column, l, factor, medians))
		}
		t.Add(row...)
	}
	t.Columns = document.Headings(strings.Join(rows, ", "), heads...)
	return t
}

// cell prints the combination that has the levels given and one of the columns.
func (r *crossTable) cell(levels map[string]string, column, level, factor string, medians bool) document.Cell {
	want := maps.Clone(levels)
	if column != "" {
		want[column] = level
	}
	i := slices.IndexFunc(r.Cells, func(c analysis.Combination) bool { return maps.Equal(c.Levels, want) })
	if i < 0 {
		return document.Text("not run")
	}
	c := &r.Cells[i]
	var lines []string
	if medians {
		lines = []string{result.Format(c.Median.Value, r.Unit)}
	}
	mark := ""
	if c.Marked > 0 {
		mark = fmt.Sprintf(", %d c", c.Marked)
	}
	k := slices.IndexFunc(c.Against, func(e analysis.Change) bool { return e.Factor == factor })
	if k < 0 {
		lines = append(lines, fmt.Sprintf("baseline, n = %d%s", c.Median.N, mark))
	} else {
		e := c.Against[k].Effect
		lines = append(lines, fmt.Sprintf("%s, n = %d%s", amount(e.Value, &r.response), e.N, mark), span(e.Low, e.High, &r.response))
	}
	return document.Text(lines[0], lines[1:]...)
}
