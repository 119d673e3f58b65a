package predict

import (
	_ "embed"
	"fmt"
	"math"

	"hostlab/internal/model"
	"hostlab/internal/picture"
	"hostlab/internal/result"
)

//go:embed web/predict.css
var css []byte

// heatMap shows where a policy hurts: ratios over loads and lengths of slices, each
// number in its cell.
func heatMap(m *model.Map) picture.Figure {
	columns := picture.Axis{Name: "mean length of a slice of work", Hi: float64(len(m.Slices)),
		Text: func(v float64) string { return shortSeconds(m.Slices[int(v)]) }}
	rows := picture.Axis{Name: "load", Lo: -float64(len(m.Loads)),
		Text: func(v float64) string { return percent(m.Loads[int(-v)]) }}
	for k := range m.Slices {
		columns.Ticks = append(columns.Ticks, float64(k)+0.5)
	}
	for i := range m.Loads {
		rows.Ticks = append(rows.Ticks, -float64(i)-0.5)
	}
	s := picture.NewPlot("map", picture.Width, 34*float64(len(m.Loads)), nil, &columns, &rows)
	for i, load := range m.Loads {
		for k, e := range m.Ratios[i] {
			x, y := s.X.At(float64(k)), s.Y.At(-float64(i))
			w, h := s.X.At(float64(k)+1)-x, s.Y.At(-float64(i)-1)-y
			class, ink := shade(e)
			text, title := "-", "cannot carry this load"
			if e.Known() {
				text = fmt.Sprintf("%.2f", e.Value)
				title = fmt.Sprintf("%s at %s load, slices of %s", e.Brief(), percent(load), shortSeconds(m.Slices[k]))
			}
			s.Rect(x+1, y+1, w-2, h-2, class, title)
			s.Text(x+w/2, y+h/2+4, "middle", "cpu "+ink, text)
		}
	}
	x := 8.0
	s.H += 8
	for _, l := range legend {
		w := 34 + picture.TextWidth(l.text)
		if x+w > s.W {
			x, s.H = 8, s.H+22
		}
		s.Rect(x, s.H, 16, 16, l.class, "")
		s.Text(x+22, s.H+13, "start", "label", l.text)
		x += w
	}
	s.H += 22
	return picture.Figure{
		Title: "Where " + m.Policy + " hurts",
		Note: "CPU time of a step against " + m.Baseline +
			", simulated. Rows are loads, columns mean lengths of a slice; waits scale with slices, so that a step keeps its shape. " +
			"Point at a cell for its interval.",
		SVG: s.Done("Map of "+m.Policy, "Ratios of CPU time to "+m.Baseline+
			" by load and slice length; the table below holds the same figures."),
	}
}

// legend holds the classes of cells, that of the text in them and the highest ratio of each.
var legend = []struct {
	class, ink, text string
	most             float64
}{
	{"hl", "low", "below 0.98", math.Nextafter(0.98, 0)}, {"h0", "low", "to 1.02", 1.02}, {"h1", "low", "to 1.05", 1.05},
	{"h2", "low", "to 1.15", 1.15}, {"h3", "low", "to 1.3", 1.3}, {"h4", "mid", "to 1.5", 1.5},
	{"h5", "high", "to 1.75", 1.75},
	{"h6", "high", "more", math.Inf(1)},
}

// shade is a cell's class and that of the text in it.
func shade(e result.Estimate) (class, ink string) {
	for _, l := range legend {
		if e.Known() && e.Value <= l.most {
			return l.class, l.ink
		}
	}
	return "hn", "low"
}

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
