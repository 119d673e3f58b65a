package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/picture"
	"hostlab/internal/result"
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
	lo, hi := 0.0, 0.0
	var bars []picture.Bar
	some := [2]bool{}
	for _, e := range effects {
		r := &e.Response
		for _, v := range []float64{e.Value, e.Low, e.High, r.Margin, -r.Margin} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
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
	text := picture.PercentTick
	if effects[0].Response.Compare == result.Difference {
		text = func(v float64) string { return signed(picture.Round(v, effects[0].Response.Unit)) }
	}
	axis := ""
	if some[0] && some[1] {
		axis = "circles are primary effects, squares others; "
	}
	if total > len(effects) {
		axis += fmt.Sprintf("the first %d of %d; ", len(effects), total)
	}
	return picture.Bars(id, title, bars, lo, hi, text, strings.TrimSuffix(axis, "; "))
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
		SVG: picture.Bars(id+"-aa", title, bars, -most, most,
			func(v float64) string { return fmt.Sprintf("%gx", math.Round(v*100)/100) },
			"in units of the practical margin, the grey band"),
		Note: "Nothing differs between the two, so that any difference here is noise."}, true
}
