package effects

import (
	"fmt"
	"math"

	"hostlab/internal/analysis"
	"hostlab/internal/picture"
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
	t := &picture.Table{Caption: "The baseline against its hidden duplicate", Head: []string{"Response", "Difference", "Interval", "n", "Noise floor", "Margin"}}
	var bars []picture.Bar
	for _, a := range rows {
		m, r := a.Response.Margin, &a.Response
		b := picture.Bar{Name: label(r), Below: "noise " + within(a.Floor, r), Said: aaText(a), Value: a.Value / m, Low: a.Low / m, High: a.High / m,
			Band: 1, BandSaid: "practical margin " + within(m, r), Floor: math.NaN()}
		if a.Void {
			b.Below = "void: " + b.Below
		}
		bars = append(bars, b)
		t.Rows = append(t.Rows, []string{label(r), amount(a.Value, r), span(a.Low, a.High, r), fmt.Sprint(a.N), within(a.Floor, r), within(m, r)})
	}
	const title = "The baseline against its hidden duplicate (A/A)"
	return picture.Figure{Title: title, Table: t,
		SVG:  picture.Bars(id+"-aa", title, bars, -most, most, func(v float64) string { return fmt.Sprintf("%gx", math.Round(v*100)/100) }, "in units of the practical margin, the grey band"),
		Note: "Nothing differs between the two, so that any difference here is noise. No smaller effect can be shown, and where the baseline differs from itself by more than chance the whole study is void."}, true
}
