package effects

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/report/picture"
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
	for _, e := range effects {
		m := e.Response.Margin
		for _, v := range []float64{e.Value, e.Low, e.High, m, -m} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	var names, verdicts []string
	for _, e := range effects {
		names = append(names, label(&e.Response)+": "+subject(&e.Contrast))
		verdicts = append(verdicts, amount(e.Value, &e.Response)+", "+verdictWord(e))
	}
	left, pitch := labelColumn(names, verdicts)
	const top = 8.0
	s := &picture.SVG{ID: id, W: 480, H: top + pitch*float64(len(effects)) + 46}
	sc := newScale(lo, hi, left+labelGap, 468)
	bottom := top + pitch*float64(len(effects))
	text := percentTick
	if effects[0].Response.Compare == result.Difference {
		text = func(v float64) string { return signed(picture.Round(v, effects[0].Response.Unit)) }
	}
	axisX(s, sc, top, bottom, text)
	var says []string
	for i, e := range effects {
		y := top + pitch*float64(i)
		mid, m := y+pitch/2, e.Response.Margin
		s.Rect(sc.at(-m), mid-9, sc.at(m)-sc.at(-m), 18, "floor", "practical margin "+within(m, &e.Response))
		said := effectName(x, e) + ": " + amount(e.Value, &e.Response) + " (" + span(e.Low, e.High, &e.Response) + "), " + sample(e) + ", " + verdictWord(e)
		says = append(says, said)
		labelled(s, y, left, names[i], verdicts[i])
		if f := e.NoiseFloor; known(f) {
			for _, v := range []float64{-f, f} {
				if v >= sc.lo && v <= sc.hi {
					s.Line(sc.at(v), mid-6, sc.at(v), mid+6, "ideal")
				}
			}
		}
		s.Line(sc.at(0), mid-12, sc.at(0), mid+12, "none")
		series := 0
		if !e.Primary() {
			series = 1
		}
		if known(e.Low, e.High) {
			s.Line(sc.at(e.Low), mid, sc.at(e.High), mid, fmt.Sprintf("whisker k%d", series))
			for _, v := range []float64{e.Low, e.High} {
				s.Line(sc.at(v), mid-4, sc.at(v), mid+4, fmt.Sprintf("whisker k%d", series))
			}
		}
		s.Dot(sc.at(e.Value), mid, series, said)
	}
	axis := ""
	if slices.ContainsFunc(effects, func(e *analysis.Effect) bool { return e.Primary() }) && slices.ContainsFunc(effects, func(e *analysis.Effect) bool { return !e.Primary() }) {
		axis = "circles are primary effects, squares others; "
	}
	if total > len(effects) {
		axis += fmt.Sprintf("the first %d of %d; ", len(effects), total)
	}
	s.Text(240, s.H-6, "middle", "axis", strings.TrimSuffix(axis, "; "))
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
