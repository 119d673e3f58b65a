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

// effectRows is how many effects one picture has room for; the table has all.
const effectRows = 24

// effectFigures draws effects with their intervals over the band of the practical
// margin: one picture for all ratios, one for the differences of each unit.
func effectFigures(id string, x *result.Experiment, all []analysis.Effect) []picture.Figure {
	var keys []string
	groups := map[string][]*analysis.Effect{}
	for i := range all {
		e := &all[i]
		if !known(e.Value) {
			continue
		}
		key := "ratio"
		if e.Response.Compare == result.Difference {
			key = "difference " + e.Response.Unit
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], e)
	}
	var out []picture.Figure
	for i, k := range keys {
		title := "Effects with their intervals"
		if k != "ratio" {
			title = "Effects as differences"
		}
		brackets := ""
		if slices.ContainsFunc(groups[k], func(e *analysis.Effect) bool { return known(e.NoiseFloor) }) {
			brackets = " Faint brackets are the noise floor (A/A)."
		}
		out = append(out, picture.Figure{Title: title, SVG: effectsPicture(fmt.Sprintf("%s-effects%d", id, i), title, x,
			groups[k]),
			Note: "Marks are estimates, bars their intervals, the grey band the practical margin: an effect counts where its whole bar " +
				"is outside, and is none where it is all inside." + brackets + " The table above has the figures."})
	}
	return out
}

func effectsPicture(id, title string, x *result.Experiment, effects []*analysis.Effect) picture.HTML {
	total := len(effects)
	effects = effects[:min(total, effectRows)]
	seen := []float64{0}
	var bars []picture.Bar
	some := [2]bool{}
	for _, e := range effects {
		r := &e.Response
		seen = append(seen, e.Value, e.Low, e.High, r.Margin, -r.Margin, e.NoiseFloor, -e.NoiseFloor)
		b := picture.Bar{Name: label(r) + ": " + e.Contrast.String(), Below: amount(e.Value, r) + ", " + verdictWord(e),
			Value: e.Value, Low: e.Low, High: e.High,
			Band: r.Margin, BandSaid: "practical margin " + within(r.Margin, r), Floor: e.NoiseFloor,
			Said: effectName(x, e) + ": " + amount(e.Value, r) + " (" + span(e.Low, e.High, r) + "), " + sample(e) + ", " +
				verdictWord(e)}
		if !e.Primary() {
			b.Series = 1
		}
		some[b.Series] = true
		bars = append(bars, b)
	}
	name, unit := "effect", picture.Gain
	if r := &effects[0].Response; r.Compare == result.Difference {
		name, unit = "difference", r.Unit
	}
	if some[0] && some[1] {
		name += "; circles are primary, squares others"
	}
	if total > len(effects) {
		name += fmt.Sprintf("; the first %d of %d", len(effects), total)
	}
	return picture.Bars(id, title, picture.Around(name, unit, seen...), 0, bars)
}

// aaFigure draws the comparison of the baseline with itself, in units of the
// practical margin, so that all responses share an axis.
func aaFigure(id string, all []analysis.AA) (picture.Figure, bool) {
	var rows []*analysis.AA
	most := 1.3
	for i := range all {
		a := &all[i]
		if m := a.Response.Margin; m > 0 && known(a.Value) {
			rows = append(rows, a)
			for _, v := range []float64{a.Value, a.Low, a.High} {
				if known(v) {
					most = max(most, min(math.Abs(v/m), 20))
				}
			}
		}
	}
	if len(rows) == 0 {
		return picture.Figure{}, false
	}
	t := &picture.Table{Caption: "The baseline against itself",
		Head: []string{"Response", "Difference", "Interval", "n", "Noise floor", "Margin"}}
	var bars []picture.Bar
	for _, a := range rows {
		m, r := a.Response.Margin, &a.Response
		b := picture.Bar{Name: label(r), Below: "noise " + within(a.Floor, r), Said: aaText(a), Value: a.Value / m,
			Low: a.Low / m, High: a.High / m,
			Band: 1, BandSaid: "practical margin " + within(m, r), Floor: math.NaN()}
		bars = append(bars, b)
		t.Rows = append(t.Rows, []string{label(r), amount(a.Value, r), span(a.Low, a.High, r), fmt.Sprint(a.N),
			within(a.Floor, r), within(m, r)})
	}
	const title = "The baseline against itself (A/A)"
	return picture.Figure{Title: title, Table: t,
		SVG: picture.Bars(id+"-aa", title, picture.Around("difference over the practical margin", "ratio", -most, most), 0,
			bars),
		Note: "Nothing differs between the two, so that any difference here is noise."}, true
}

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
