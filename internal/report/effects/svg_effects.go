package effects

import (
	"fmt"
	"math"
	"slices"

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
		SVG:  picture.Bars(id+"-aa", title, picture.Around("difference over the practical margin", "ratio", -most, most), 0, bars),
		Note: "Nothing differs between the two, so that any difference here is noise."}, true
}
