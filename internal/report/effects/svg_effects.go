package effects

import (
	"fmt"
	"html/template"
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
		out = append(out, picture.Figure{Title: title, SVG: effectsPicture(fmt.Sprintf("%s-effects%d", id, i), title, x, groups[k]),
			Note: "Marks are estimates, bars their intervals, the grey band the practical margin: an effect counts where its whole bar is outside, and is none where it is all inside. Faint brackets are the noise floor of the A/A duplicate. The table above has the figures."})
	}
	return out
}

func effectsPicture(id, title string, x *result.Experiment, effects []*analysis.Effect) template.HTML {
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
		b := picture.Bar{Name: label(r) + ": " + e.Contrast.String(), Below: amount(e.Value, r) + ", " + verdictWord(e), Value: e.Value, Low: e.Low, High: e.High,
			Band: r.Margin, BandSaid: "practical margin " + within(r.Margin, r), Floor: e.NoiseFloor,
			Said: effectName(x, e) + ": " + amount(e.Value, r) + " (" + span(e.Low, e.High, r) + "), " + sample(e) + ", " + verdictWord(e)}
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
