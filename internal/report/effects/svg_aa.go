package effects

import (
	"fmt"
	"math"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/report/picture"
)

// aaFigure draws the comparison of the baseline with its duplicate, in units of the
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
	const top, pitch = 12.0, 46.0
	s := &picture.SVG{ID: id + "-aa", W: 480, H: top + pitch*float64(len(rows)) + 46}
	sc := newScale(-most, most, 12, 468)
	bottom := top + pitch*float64(len(rows))
	axisX(s, sc, top, bottom, func(v float64) string { return fmt.Sprintf("%gx", math.Round(v*100)/100) })
	t := &picture.Table{Caption: "The baseline against its hidden duplicate", Head: []string{"Response", "Difference", "Interval", "n", "Noise floor", "Margin"}}
	var says []string
	for i, a := range rows {
		y, m, r := top+pitch*float64(i), a.Response.Margin, &a.Response
		mid := y + 32
		s.Rect(sc.at(-1), mid-9, sc.at(1)-sc.at(-1), 18, "floor", "practical margin "+within(m, r))
		said := aaText(a)
		says = append(says, said)
		state := "noise floor " + within(a.Floor, r)
		if a.Void {
			state = "void: " + state
		}
		s.Text(476, y+16, "end", "note", state)
		s.Text(4, y+16, "start", "name", short(label(r), int((464-picture.TextWidth(state))/7.2)))
		s.Line(sc.at(0), mid-12, sc.at(0), mid+12, "none")
		if known(a.Low, a.High) {
			s.Line(sc.at(a.Low/m), mid, sc.at(a.High/m), mid, "whisker k0")
			for _, v := range []float64{a.Low, a.High} {
				s.Line(sc.at(v/m), mid-4, sc.at(v/m), mid+4, "whisker k0")
			}
		}
		s.Dot(sc.at(a.Value/m), mid, 0, said)
		t.Rows = append(t.Rows, []string{label(r), amount(a.Value, r), span(a.Low, a.High, r), fmt.Sprint(a.N), within(a.Floor, r), within(m, r)})
	}
	s.Text(240, s.H-6, "middle", "axis", "in units of the practical margin, the grey band")
	const title = "The baseline against its hidden duplicate (A/A)"
	return picture.Figure{Title: title, SVG: s.Done(title, strings.Join(says, "; ")), Table: t,
		Note: "Nothing differs between the two, so that whatever shows here is noise. No smaller effect can be told, and where the baseline differs from itself by more than chance the whole study is void."}, true
}
