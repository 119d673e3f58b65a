package effects

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// crossAlpha is that of every interval in a cross table: each is taken by itself.
const crossAlpha = 0.05

// cross is the section "table": every combination of levels with the median of each
// response that decides, and of energy and throttled time, and what it costs against the baseline of each factor where the
// other factors are at the same levels. It is the table in which Olontsev (2012)
// sets BIOS, power plan and degree of parallelism beside each other.
type cross struct {
	x         *result.Experiment
	responses []crossResponse
}

// crossResponse is the cells of one response, in the record's order.
type crossResponse struct {
	result.Response
	cells []crossCell
}

// crossCell is one combination of levels.
type crossCell struct {
	levels  map[string]string
	median  float64 // of the blocks' means, in the response's unit; NaN: no run
	n       int     // blocks
	marked  int     // contaminated runs
	against []crossEffect
}

// crossEffect compares a cell with the one that has a factor's baseline instead.
type crossEffect struct {
	factor, baseline string
	iv               stats.Interval // a fraction for ratios, else in the response's unit
}

func newCross(a *analysis.Analysis, runs []result.Run) extra {
	x := a.Experiment
	out := &cross{x: x}
	for _, r := range tabled(x, runs) {
		one := crossResponse{Response: r}
		values := analysis.BlockMeans(x, runs, &r)
		for i := range x.Cells {
			if x.Cells[i].Duplicate {
				continue
			}
			c := crossCell{levels: x.Cells[i].Levels, n: len(values[i]), median: math.NaN()}
			if c.n > 0 {
				c.median = onResponse(&r, stats.Median(slices.Collect(maps.Values(values[i]))))
			}
			for k := range runs {
				if runs[k].Cell == i && runs[k].Contaminated != "" {
					c.marked++
				}
			}
			for _, f := range x.Factors {
				if j := besides(x, i, f.Name, f.Baseline); j >= 0 && c.levels[f.Name] != f.Baseline {
					c.against = append(c.against, crossEffect{f.Name, f.Baseline, paired(x, &r, values[i], values[j])})
				}
			}
			one.cells = append(one.cells, c)
		}
		out.responses = append(out.responses, one)
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

// onResponse turns a mean on the scale of the comparison into the response's unit.
func onResponse(r *result.Response, z float64) float64 {
	if r.Compare == result.Difference {
		return z
	}
	return math.Exp(z)
}

// besides is the cell that differs from cell i by a level of one factor, or -1.
func besides(x *result.Experiment, i int, factor, level string) int {
	want := maps.Clone(x.Cells[i].Levels)
	want[factor] = level
	return slices.IndexFunc(x.Cells, func(c result.Cell) bool { return !c.Duplicate && maps.Equal(c.Levels, want) })
}

// paired compares two cells within the blocks that have both.
func paired(x *result.Experiment, r *result.Response, level, base map[int]float64) stats.Interval {
	d := differences(level, base)
	iv := stats.HodgesLehmann(d, crossAlpha)
	if student(x, len(d)) {
		iv = stats.PairedT(d, crossAlpha)
	}
	if r.Compare != result.Difference {
		iv.Estimate, iv.Low, iv.High = math.Exp(iv.Estimate)-1, math.Exp(iv.Low)-1, math.Exp(iv.High)-1
	}
	return iv
}

// differences between two cells, one for each block that has both.
func differences(level, base map[int]float64) []float64 {
	var d []float64
	for _, b := range slices.Sorted(maps.Keys(level)) {
		if v, ok := base[b]; ok {
			d = append(d, level[b]-v)
		}
	}
	return d
}

// student reports whether an interval is Student's, as the analysis has it for the few
// superblocks of a split plot: ranks would have none.
func student(x *result.Experiment, n int) bool {
	return x.Design.Kind == "split-plot" && n >= 2 && n < stats.MinBlocks(crossAlpha)
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
		c.x.Evidence, confidence(crossAlpha)))
	for i := range c.responses {
		r := &c.responses[i]
		// The last factor of the rows first: it is the one that stands closest.
		for k, f := range slices.Backward(rows) {
			out.Blocks = append(out.Blocks, c.table(r, rows, column, f, k == len(rows)-1))
		}
	}
	marked, few := 0, false
	for _, cell := range c.responses[0].cells {
		marked += cell.marked
		for _, e := range cell.against {
			few = few || student(c.x, e.iv.N)
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
		if !medians && cell.levels[factor] == base {
			continue
		}
		var parts []string
		for _, f := range rows {
			parts = append(parts, cell.levels[f])
		}
		name := strings.Join(parts, ", ")
		if at[name] == nil {
			at[name] = cell.levels
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
	i := slices.IndexFunc(r.cells, func(c crossCell) bool { return maps.Equal(c.levels, want) })
	if i < 0 {
		return document.Text("not run")
	}
	c := &r.cells[i]
	var lines []string
	if medians {
		lines = []string{result.Format(c.median, r.Unit)}
	}
	n, mark := c.n, ""
	if c.marked > 0 {
		mark = fmt.Sprintf(", %d c", c.marked)
	}
	k := slices.IndexFunc(c.against, func(e crossEffect) bool { return e.factor == factor })
	if k < 0 {
		return cell(append(lines, fmt.Sprintf("baseline, n = %d%s", n, mark))...)
	}
	e := c.against[k]
	return cell(append(lines, fmt.Sprintf("%s, n = %d%s", amount(e.iv.Estimate, &r.Response), e.iv.N, mark), span(e.iv.Low, e.iv.High, &r.Response))...)
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
	out := crossJSON{Name: "table", Alpha: crossAlpha, Tables: []crossJSONBody{}}
	for _, r := range c.responses {
		body := crossJSONBody{Response: r.Name, Unit: r.Unit, Cells: []crossJSONCell{}}
		for _, cell := range r.cells {
			one := crossJSONCell{Levels: cell.levels, Median: result.Finite(cell.median), N: cell.n, Marked: cell.marked, Against: []crossJSONEffect{}}
			for _, e := range cell.against {
				one.Against = append(one.Against, crossJSONEffect{e.factor, e.baseline, result.Finite(e.iv.Estimate), result.Finite(e.iv.Low), result.Finite(e.iv.High), e.iv.N})
			}
			body.Cells = append(body.Cells, one)
		}
		out.Tables = append(out.Tables, body)
	}
	return out
}
