package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// interactionFigures draws, for each pair of factors whose interaction was asked
// for, the medians of one factor's levels, joined by level of the other: lines that
// are not parallel interact.
func interactionFigures(id string, x *result.Experiment, runs []result.Run,
	effects []analysis.Effect) []picture.Figure {
	var out []picture.Figure
	seen := map[string]bool{}
	for i := range effects {
		e := &effects[i]
		if len(e.Contrast.Factors) != 2 || !slices.ContainsFunc(shown(x),
			func(r result.Response) bool { return r.Name == e.Response.Name }) {
			continue
		}
		key := strings.Join(e.Contrast.Factors, "\x00") + "\x00" + e.Response.Name
		if seen[key] || len(out) == 4 {
			continue
		}
		seen[key] = true
		if f, ok := interactionFigure(fmt.Sprintf("%s-inter%d", id, len(out)), x, runs, e); ok {
			out = append(out, f)
		}
	}
	return out
}

func interactionFigure(id string, x *result.Experiment, runs []result.Run, e *analysis.Effect) (picture.Figure, bool) {
	fa, fb, r := e.Contrast.Factors[0], e.Contrast.Factors[1], &e.Response
	a, b := x.Factor(fa), x.Factor(fb)
	if a == nil || b == nil {
		return picture.Figure{}, false
	}
	la, lb := a.Levels[:min(len(a.Levels), 8)], b.Levels[:min(len(b.Levels), maxSeries)]
	values := map[[2]string][]float64{}
	for i, v := range valuesOf(x, runs, r.Name) {
		c := &x.Cells[i]
		k := [2]string{c.Levels[fa], c.Levels[fb]}
		values[k] = append(values[k], v...)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	medians := map[[2]string]float64{}
	for _, a := range la {
		for _, b := range lb {
			m := stats.Median(values[[2]string{a, b}])
			if math.IsNaN(m) {
				return picture.Figure{}, false
			}
			medians[[2]string{a, b}] = m
			lo, hi = min(lo, m), max(hi, m)
		}
	}
	if len(la) < 2 || len(lb) < 2 || !(hi > lo) {
		return picture.Figure{}, false
	}
	var names []string
	for _, b := range lb {
		names = append(names, fb+" "+b)
	}
	y, how := picture.Around(label(r), r.Unit, lo, hi), "Where lines are parallel the effects add up"
	if r.Compare != result.Difference && lo > 0 {
		y, how = picture.Around(label(r), r.Unit, math.Log(lo), math.Log(hi)),
			"Where lines are parallel on this logarithmic scale the effects multiply"
		y.Lo, y.Hi, y.Log = math.Exp(y.Lo), math.Exp(y.Hi), true
	}
	across := picture.Axis{Name: fa, Hi: float64(len(la)), Text: func(v float64) string {
		return picture.Short(la[int(v)], int(picture.Width)/8/len(la))
	}}
	for i := range la {
		across.Ticks = append(across.Ticks, float64(i)+0.5)
	}
	s := picture.NewPlot(id, picture.Width, 180, names, &across, y)
	t := &picture.Table{Caption: "Medians of " + label(r), Head: append([]string{fa}, names...)}
	for _, a := range la {
		row := []string{a}
		for _, b := range lb {
			row = append(row, result.Format(medians[[2]string{a, b}], r.Unit))
		}
		t.Rows = append(t.Rows, row)
	}
	var says []string
	for j, b := range lb {
		var pts [][2]float64
		for i, a := range la {
			pts = append(pts, [2]float64{s.X.At(across.Ticks[i]), s.Y.At(medians[[2]string{a, b}])})
			says = append(says, fmt.Sprintf("%s %s with %s %s: %s", fa, a, fb, b,
				result.Format(medians[[2]string{a, b}], r.Unit)))
		}
		s.Path(pts, fmt.Sprintf("join k%d", j), false)
		s.Marks(j, pts)
	}
	title := picture.Short(label(r), 40) + ": " + picture.Short(fa, 24) + " x " + picture.Short(fb, 24)
	return picture.Figure{Title: title, SVG: s.Done(title, strings.Join(says, "; ")), Table: t,
		Note: fmt.Sprintf("Medians of the runs. %s; %s x %s: %s (%s), %s.",
			how, fa, fb, amount(e.Value, r), span(e.Low, e.High, r), verdictWord(e))}, true
}
