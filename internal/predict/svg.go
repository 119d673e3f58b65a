package predict

import (
	"fmt"
	"math"

	"hostlab/internal/picture"
)

func curves(a *Answer) picture.Figure {
	seen, all := []float64{0.95, 1.1}, []picture.Course{}
	for _, v := range a.Vanishing {
		c := picture.Course{Name: v.Policy}
		for _, p := range v.Points {
			if p.Ratio.Known() {
				c.X, c.Y = append(c.X, p.Load), append(c.Y, p.Ratio.Value)
				c.Low, c.High = append(c.Low, p.Ratio.Low), append(c.High, p.Ratio.High)
			}
		}
		seen, all = append(append(seen, c.Low...), c.High...), append(all, c)
	}
	return picture.Figure{
		Title: "From which load on it does not matter",
		Note: fmt.Sprintf("CPU time of a step against %s over the load, simulated, with intervals over %d replications. The "+
			"upper dashed line is 5 %%, below which an effect does not count.", a.Baseline.Name, a.Options.Replications),
		SVG: picture.Courses("curves", "Ratios over loads",
			"CPU time of each policy against the baseline over the load; the table below holds the same figures.",
			&picture.Axis{Name: "load", Unit: picture.Share, Hi: 1},
			picture.Around("CPU time of a step, against "+a.Baseline.Name, "ratio", seen...), []float64{1, Limit}, all),
	}
}

func tornado(a *Answer) picture.Figure {
	assumed := a.Sensitivity[0].Settings[0].Ratio.Value
	seen := []float64{assumed - 0.01, assumed + 0.01}
	var bars []picture.Bar
	for _, i := range a.Sensitivity {
		b := picture.Bar{Name: i.Parameter, Value: math.NaN(), Low: math.Inf(1), High: math.Inf(-1), Floor: math.NaN()}
		for _, v := range i.Settings {
			if v.Ratio.Known() {
				b.Low, b.High, b.Marks = min(b.Low, v.Ratio.Value), max(b.High, v.Ratio.Value), append(b.Marks, v.Ratio.Value)
			}
		}
		if b.Marks != nil {
			b.Said = fmt.Sprintf("%s: %.2fx to %.2fx", i.Parameter, b.Low, b.High)
			b.Below = fmt.Sprintf("%.2fx to %.2fx", b.Low, b.High)
			bars, seen = append(bars, b), append(seen, b.Low, b.High)
		}
	}
	const title = "Range of the answer by what is unknown"
	return picture.Figure{
		Title: title,
		Note: fmt.Sprintf(
			"CPU time of %s against %s%s, simulated, with one unknown changed at a time over the values that sources "+
				"leave open. The upright line is the answer as assumed.",
			a.focus().String(), a.Baseline.Name, at(a.Comparisons[0])),
		SVG: picture.Bars("tornado", title, picture.Around("CPU time of a step, against "+a.Baseline.Name, "ratio", seen...),
			assumed, bars),
	}
}
