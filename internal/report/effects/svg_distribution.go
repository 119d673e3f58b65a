package effects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// The most cells of one picture, and runs of a cell that are drawn one by one.
const (
	distCells  = 16
	distPoints = 150
)

// distributionFigure draws each cell's runs as points with median and quartiles.
func distributionFigure(id string, x *result.Experiment, runs []result.Run, r *result.Response) (picture.Figure, bool) {
	cells := min(len(x.Cells), distCells)
	values := valuesOf(x, runs, r.Name)[:cells]
	lo, hi, thinned, n := math.Inf(1), math.Inf(-1), false, 0
	for _, v := range values {
		slices.Sort(v)
		n += len(v)
		if len(v) > 0 {
			lo, hi, thinned = min(lo, v[0]), max(hi, v[len(v)-1]), thinned || len(v) > distPoints
		}
	}
	if n == 0 {
		return picture.Figure{}, false
	}
	const pitch = 46.0
	s := picture.NewPlot(id, picture.Width, pitch*float64(cells), nil, picture.Around(label(r), r.Unit, lo, hi), nil)
	sc := s.X
	t := &picture.Table{Caption: "Distribution of " + label(r),
		Head: []string{"Cell", "Runs", "Lowest", "Quartile", "Median", "Quartile", "Highest"}}
	var says []string
	for i, v := range values {
		name := cellName(x, &x.Cells[i])
		y := s.Top + pitch*float64(i)
		s.Label(4, y+14, s.W-8, 1, "name", name)
		row := []string{name, fmt.Sprint(len(v))}
		for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
			row = append(row, result.Format(stats.SortedQuantile(v, q), r.Unit))
		}
		t.Rows = append(t.Rows, row)
		if len(v) == 0 {
			continue
		}
		says = append(says, fmt.Sprintf("%s: median %s of %d runs", name, row[4], len(v)))
		mid := y + 30
		a, b := sc.At(stats.SortedQuantile(v, 0.25)), sc.At(stats.SortedQuantile(v, 0.75))
		s.Rect(a, mid-9, b-a, 18, "box", fmt.Sprintf("%s: half of the runs are between %s and %s", name, row[3], row[5]))
		var pts [][2]float64
		m := min(len(v), distPoints)
		for k := range m {
			at := v[k]
			if len(v) > distPoints {
				at = stats.SortedQuantile(v, float64(k)/float64(m-1))
			}
			pts = append(pts, [2]float64{sc.At(at), mid + float64(k*7%11-5)*1.1})
		}
		s.Marks(0, pts)
		c := sc.At(stats.SortedQuantile(v, 0.5))
		s.Line(c, mid-11, c, mid+11, "none")
	}
	note := "Each mark is a run, up and down only to keep them apart; boxes hold the middle half, lines are medians. Drift widens " +
		"these, and not the intervals of the effects."
	if thinned {
		note = fmt.Sprintf(
			"%d runs: of cells with more than %d, as many quantiles are drawn instead. Boxes hold the middle half, "+
				"lines are medians.", n, distPoints)
	}
	if len(x.Cells) > cells {
		note += fmt.Sprintf(" The first %d of %d cells.", cells, len(x.Cells))
	}
	title := "Distribution of " + picture.Short(label(r), 50)
	return picture.Figure{Title: title, SVG: s.Done(title, strings.Join(says, "; ")), Note: note, Table: t}, true
}

// latencyFigure draws the latencies of single operations by cell, all runs of a
// cell together, where the workload tells them.
func latencyFigure(id string, x *result.Experiment, runs []result.Run) (picture.Figure, bool) {
	merged := make([]*result.Distribution, len(x.Cells))
	for i := range runs {
		r := &runs[i]
		if r.Status != result.OK || r.Latency == nil || r.Cell < 0 || r.Cell >= len(merged) {
			continue
		}
		d := merged[r.Cell]
		if d == nil {
			d = &result.Distribution{Title: r.Latency.Title, Unit: r.Latency.Unit, Edge: r.Latency.Edge,
				Count: make([]int, len(r.Latency.Edge))}
			merged[r.Cell] = d
		}
		if slices.Equal(d.Edge, r.Latency.Edge) {
			for k := range min(len(d.Count), len(r.Latency.Count)) {
				d.Count[k] += r.Latency.Count[k]
			}
		}
	}
	t := &picture.Table{Caption: "Latency of single operations", Head: []string{"Cell", "Operations", "p50", "p99",
		"Longest"}}
	var panels []picture.Panel
	var says []string
	for i, d := range merged {
		if d == nil || len(panels) == latencyPanels {
			continue
		}
		name := cellName(x, &x.Cells[i])
		p50, p99, longest, n := edges(d)
		row := []string{name, fmt.Sprint(n), result.Format(p50, d.Unit), result.Format(p99, d.Unit),
			result.Format(longest, d.Unit)}
		if n > 0 {
			t.Rows = append(t.Rows, row)
			panels = append(panels, picture.Panel{Distribution: *d, Name: name, Note: "p99 " + row[3]})
			says = append(says, fmt.Sprintf("%s: p50 %s, p99 %s", name, row[2], row[3]))
		}
	}
	const title = "Latency of single operations"
	svg := picture.Panels(id, title, "time of one operation", strings.Join(says, "; "), panels)
	return picture.Figure{Title: title, SVG: svg, Table: t,
		Note: "From the moment each was due, all counted runs of a cell together, on a logarithmic axis; each panel is scaled to its " +
			"own peak. Quantiles are upper edges of the histogram's bins. An effect on a quantile is judged by runs, not by " +
			"operations."}, svg != ""
}

// latencyPanels is how many cells one picture has room for.
const latencyPanels = 8

// edges are quantiles of a histogram, as the upper edges of their bins. p99 is not
// known for fewer than 1000 operations: it would hang on less than ten.
func edges(d *result.Distribution) (p50, p99, longest float64, n int) {
	for _, c := range d.Count {
		n += c
	}
	p50, p99, longest = math.NaN(), math.NaN(), math.NaN()
	sum := 0
	for i, c := range d.Count {
		if i >= len(d.Edge) || c == 0 {
			continue
		}
		before := sum
		sum += c
		if before*2 < n && sum*2 >= n {
			p50 = d.Edge[i]
		}
		if n >= 1000 && before*100 < n*99 && sum*100 >= n*99 {
			p99 = d.Edge[i]
		}
		longest = d.Edge[i]
	}
	return p50, p99, longest, n
}

// The most series that shapes and colours keep apart.
const maxSeries = 5

// series are the runs of one response that belong together in a picture.
type series struct {
	Name   string
	At     []float64 // on the timeline
	Value  []float64
	Void   int // runs that were void or failed
	Marked int // runs that count though they are contaminated
}

// seriesOf parts runs by cell, or by the levels of the first factor where there are
// more cells than can be kept apart; values are then relative to the median of their
// cell, as cells of one level may be far apart. gone are the moments of void and
// failed runs on the timeline.
func seriesOf(x *result.Experiment, runs []result.Run, resp *result.Response, when []float64) (out []series,
	gone []float64,
	relative bool) {
	byCell := len(x.Cells) <= maxSeries
	var medians []float64
	if !byCell {
		medians, relative = cellMedians(x, runs, resp.Name)
	}
	at := map[string]int{}
	of := make([]int, len(x.Cells))
	for i := range x.Cells {
		name := cellName(x, &x.Cells[i])
		if !byCell && len(x.Factors) > 0 {
			f := x.Factors[0]
			name = f.Name + " " + x.Cells[i].Levels[f.Name]
		}
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, series{Name: name})
		}
		of[i] = min(k, maxSeries-1)
	}
	if len(out) > maxSeries {
		out = out[:maxSeries]
		out[maxSeries-1].Name = "all others"
	}
	for i := range runs {
		r := &runs[i]
		if r.Cell < 0 || r.Cell >= len(of) {
			continue
		}
		s, t := &out[of[r.Cell]], when[i]
		switch r.Status {
		case result.OK:
			if v, ok := r.Values[resp.Name]; ok && known(v) {
				if relative {
					v = v/medians[r.Cell] - 1
				}
				if r.Contaminated != "" {
					s.Marked++
				}
				s.At, s.Value = append(s.At, t), append(s.Value, v)
			}
		case result.Void, result.Failed:
			s.Void++
			gone = append(gone, t)
		case result.WarmUp:
		}
	}
	return out, gone, relative
}

// valuesOf are those of a response in each cell, of the runs that count.
func valuesOf(x *result.Experiment, runs []result.Run, response string) [][]float64 {
	out := make([][]float64, len(x.Cells))
	for i := range runs {
		r := &runs[i]
		if v, has := r.Values[response]; has && r.Status == result.OK && r.Cell >= 0 && r.Cell < len(out) && known(v) {
			out[r.Cell] = append(out[r.Cell], v)
		}
	}
	return out
}

// cellMedians are those of a response in each cell; ok where all are above 0.
func cellMedians(x *result.Experiment, runs []result.Run, response string) (out []float64, ok bool) {
	out = make([]float64, len(x.Cells))
	for i, v := range valuesOf(x, runs, response) {
		if out[i] = stats.Median(v); len(v) > 0 && !(out[i] > 0) {
			return nil, false
		}
	}
	return out, true
}

// cellName names a combination of levels: "power powersave, logdev nvme0".
func cellName(x *result.Experiment, c *result.Cell) string {
	return cmp.Or(result.LevelsText(x.Factors, c.Levels), strings.Join(slices.Sorted(maps.Keys(c.Levels)), ", "))
}

// shown are the responses that pictures show: primary ones, or the first.
func shown(x *result.Experiment) []result.Response {
	var out []result.Response
	for _, r := range x.Responses {
		if r.Primary && len(out) < 3 {
			out = append(out, r)
		}
	}
	if len(out) == 0 && len(x.Responses) > 0 {
		out = x.Responses[:1]
	}
	return out
}
