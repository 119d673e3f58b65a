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
	var bars []bar
	some := [2]bool{}
	for _, e := range effects {
		r := &e.Response
		for _, v := range []float64{e.Value, e.Low, e.High, r.Margin, -r.Margin} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		b := bar{name: label(r) + ": " + e.Contrast.String(), below: amount(e.Value, r) + ", " + verdictWord(e), value: e.Value, low: e.Low, high: e.High,
			margin: r.Margin, band: within(r.Margin, r), floor: e.NoiseFloor,
			said: effectName(x, e) + ": " + amount(e.Value, r) + " (" + span(e.Low, e.High, r) + "), " + sample(e) + ", " + verdictWord(e)}
		if !e.Primary() {
			b.series = 1
		}
		some[b.series] = true
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
	return barsPicture(id, title, bars, lo, hi, text, strings.TrimSuffix(axis, "; "))
}

// bar is an estimate with its interval over the band of its margin.
type bar struct {
	name, below, said, band         string
	value, low, high, margin, floor float64 // floor NaN: none
	series                          int
}

// barsPicture draws bars below each other on one axis.
func barsPicture(id, title string, bars []bar, lo, hi float64, text func(float64) string, axis string) template.HTML {
	var names, below, says []string
	for _, b := range bars {
		names, below, says = append(names, b.name), append(below, b.below), append(says, b.said)
	}
	left, pitch := labelColumn(names, below)
	const top = 8.0
	bottom := top + pitch*float64(len(bars))
	s := &picture.SVG{ID: id, W: 480, H: bottom + 46}
	sc := picture.NewScale(lo, hi, left+labelGap, 468)
	s.AxisX(sc, top, bottom, text)
	for i, b := range bars {
		y := top + pitch*float64(i)
		mid, class := y+pitch/2, fmt.Sprintf("whisker k%d", b.series)
		s.Rect(sc.At(-b.margin), mid-9, sc.At(b.margin)-sc.At(-b.margin), 18, "floor", "practical margin "+b.band)
		labelled(s, y, left, b.name, b.below)
		upright := func(v, half float64, class string) { s.Line(sc.At(v), mid-half, sc.At(v), mid+half, class) }
		for _, v := range []float64{-b.floor, b.floor} {
			if known(v) && v >= sc.Lo && v <= sc.Hi {
				upright(v, 6, "ideal")
			}
		}
		upright(0, 12, "none")
		if known(b.low, b.high) {
			s.Line(sc.At(b.low), mid, sc.At(b.high), mid, class)
			upright(b.low, 4, class)
			upright(b.high, 4, class)
		}
		s.Dot(sc.At(b.value), mid, b.series, b.said)
	}
	s.Text(240, s.H-6, "middle", "axis", axis)
	return s.Done(title, strings.Join(says, "; "))
}

// The column of labels beside the bars is as wide as they need, up to mostLabel; a
// name takes two lines where it must, and the verdict stands below it.
const (
	mostLabel = 200.0
	labelGap  = 16.0
)

func labelColumn(names, below []string) (width, pitch float64) {
	lines := 1
	for i := range names {
		n, _ := picture.Lines(names[i], mostLabel, 2)
		lines = max(lines, len(n))
		for _, l := range append(n, below[i]) {
			width = max(width, picture.TextWidth(l))
		}
	}
	return min(width, mostLabel) + 4, float64(16*(lines+1) + 16)
}

// labelled writes the label of the row from y.
func labelled(s *picture.SVG, y, width float64, name, below string) {
	n := s.Label(4, y+20, width, 2, "name", name)
	s.Label(4, y+20+16*float64(n), width, 1, "tick", below)
}
