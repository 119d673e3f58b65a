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
// response that decides, and of energy and throttled time.
type cross struct {
	x         *result.Experiment
	responses []crossResponse
}

// crossResponse is the cells of one response, in the record's order.
type crossResponse struct {
	result.Response
	cells []analysis.Combination
}

func newCross(a *analysis.Analysis, runs []result.Run) extra {
	out := &cross{x: a.Experiment}
	for _, r := range tabled(out.x, runs) {
		out.responses = append(out.responses, crossResponse{r, analysis.Combinations(out.x, runs, &r)})
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

func (c *cross) verdict() []string { return nil }

func (c *cross) section(string) document.Section {
	out := document.Section{Title: "Every combination"}
	rows, column := c.axes()
	if len(rows) == 0 || len(c.responses) == 0 {
		out.Blocks = document.Lines(document.Quiet, "The record has no factor or no response to make a table of.")
		return out
	}
	out.Blocks = document.Lines(document.Quiet, fmt.Sprintf("Medians of the blocks, %s. Changes are paired within blocks; their %s intervals are nominal: each holds by itself, not corrected for their number nor for the looks.",
		c.x.Evidence, confidence(analysis.NominalAlpha)))
	for i := range c.responses {
		r := &c.responses[i]
		// The last factor of the rows first: it is the one that stands closest.
		for k, f := range slices.Backward(rows) {
			out.Blocks = append(out.Blocks, c.table(r, rows, column, f, k == len(rows)-1))
		}
	}
	marked, few := 0, false
	for _, cell := range c.responses[0].cells {
		marked += cell.Marked
		for _, e := range cell.Against {
			few = few || analysis.Student(c.x, e.N)
		}
	}
	if few {
		out.Blocks = append(out.Blocks, document.Line{Text: "With so few superblocks, changes and intervals are Student's.", Tone: document.Quiet})
	}
	if marked > 0 {
		out.Blocks = append(out.Blocks, contaminatedMark)
	}
	return out
}

// contaminatedMark explains the letter c behind an n.
var contaminatedMark = document.Line{Text: "c: contaminated runs among them, see the warning.", Tone: document.Quiet}

// table compares the levels of one factor of the rows. The first table has the
// medians too.
func (c *cross) table(r *crossResponse, rows []string, column, factor string, medians bool) *document.Table {
	base := ""
	for _, f := range c.x.Factors {
		if f.Name == factor {
			base = f.Baseline
		}
	}
	title := label(&r.Response)
	if r.Better != "" {
		title += " (" + r.Better + " is better)"
	}
	t := &document.Table{Title: title + ", by " + strings.Join(slices.DeleteFunc(slices.Concat(rows, []string{column}), func(s string) bool { return s == "" }), ", ")}
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
		columns, heads = nil, nil
		for _, f := range c.x.Factors {
			if f.Name == column {
				columns = f.Levels
			}
		}
		for _, l := range columns {
			heads = append(heads, column+" "+l)
		}
	}
	var names []string
	at := map[string]map[string]string{}
	for _, cell := range r.cells {
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
		row := document.Row{Cells: []document.Cell{document.Text(name)}}
		for _, l := range columns {
			row.Cells = append(row.Cells, r.cell(at[name], column, l, factor, medians))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Columns = document.Headings(strings.Join(rows, ", "), heads...)
	return t
}

// cell prints the combination that has the levels given and one of the columns.
func (r *crossResponse) cell(levels map[string]string, column, level, factor string, medians bool) document.Cell {
	want := maps.Clone(levels)
	if column != "" {
		want[column] = level
	}
	i := slices.IndexFunc(r.cells, func(c analysis.Combination) bool { return maps.Equal(c.Levels, want) })
	if i < 0 {
		return document.Text("not run")
	}
	c := &r.cells[i]
	var lines []string
	if medians {
		lines = []string{result.Format(c.Median, r.Unit)}
	}
	n, mark := c.N, ""
	if c.Marked > 0 {
		mark = fmt.Sprintf(", %d c", c.Marked)
	}
	k := slices.IndexFunc(c.Against, func(e analysis.Change) bool { return e.Factor == factor })
	if k < 0 {
		return cell(append(lines, fmt.Sprintf("baseline, n = %d%s", n, mark))...)
	}
	e := c.Against[k]
	return cell(append(lines, fmt.Sprintf("%s, n = %d%s", amount(e.Estimate, &r.Response), e.N, mark), span(e.Low, e.High, &r.Response))...)
}

type crossJSON struct {
	Name   string          `json:"name"`
	Alpha  float64         `json:"alpha"`
	Tables []crossJSONBody `json:"tables"`
}

type crossJSONBody struct {
	Response string          `json:"response"`
	Unit     string          `json:"unit"`
	Cells    []crossJSONCell `json:"cells"`
}

type crossJSONCell struct {
	Levels  map[string]string `json:"levels"`
	Median  *float64          `json:"median"`
	N       int               `json:"n"`
	Marked  int               `json:"contaminated"`
	Against []crossJSONEffect `json:"against"`
}

type crossJSONEffect struct {
	Factor   string   `json:"factor"`
	Baseline string   `json:"baseline"`
	Effect   *float64 `json:"effect"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	N        int      `json:"n"`
}

func (c *cross) json() any {
	out := crossJSON{Name: "table", Alpha: analysis.NominalAlpha, Tables: []crossJSONBody{}}
	for _, r := range c.responses {
		body := crossJSONBody{Response: r.Name, Unit: r.Unit, Cells: []crossJSONCell{}}
		for _, cell := range r.cells {
			one := crossJSONCell{Levels: cell.Levels, Median: result.Finite(cell.Median), N: cell.N, Marked: cell.Marked, Against: []crossJSONEffect{}}
			for _, e := range cell.Against {
				one.Against = append(one.Against, crossJSONEffect{e.Factor, e.Baseline, result.Finite(e.Estimate), result.Finite(e.Low), result.Finite(e.High), e.N})
			}
			body.Cells = append(body.Cells, one)
		}
		out.Tables = append(out.Tables, body)
	}
	return out
}
