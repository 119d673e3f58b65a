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
	const cellW, cellH, left, top = 76.0, 34.0, 66.0, 44.0
	s := picture.SVG{ID: "map", W: left + cellW*float64(len(m.Slices)) + 10, H: top + cellH*float64(len(m.Loads)) + 52,
		Wide: true}
	s.Text(left, 14, "start", "name", "mean length of a slice of work")
	for k, slice := range m.Slices {
		s.Text(left+cellW*(float64(k)+0.5), top-8, "middle", "label", shortSeconds(slice))
	}
	for i, load := range m.Loads {
		y := top + cellH*float64(i)
		s.Text(left-8, y+cellH/2+4, "end", "label", percent(load))
		for k, e := range m.Ratios[i] {
			x := left + cellW*float64(k)
			class, ink := shade(e)
			text, title := "-", "cannot carry this load"
			if e.Known() {
				text = fmt.Sprintf("%.2f", e.Value)
				title = fmt.Sprintf("%s at %s load, slices of %s", e.Brief(), percent(load), shortSeconds(m.Slices[k]))
			}
			s.Rect(x+1, y+1, cellW-2, cellH-2, class, title)
			s.Text(x+cellW/2, y+cellH/2+4, "middle", "cpu "+ink, text)
		}
	}
	y := top + cellH*float64(len(m.Loads)) + 14
	x := 8.0
	for _, l := range legend {
		s.Rect(x, y, 16, 16, l.class, "")
		s.Text(x+22, y+13, "start", "label", l.text)
		x += 34 + picture.TextWidth(l.text)
	}
	return picture.Figure{
		Title: "Where " + m.Policy + " hurts", Wide: true,
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
	const w, h, left, right, top, bottom = 620.0, 330.0, 46.0, 16.0, 20.0, 36.0
	s := picture.SVG{ID: "curves", W: w, H: h + 22*float64((len(a.Vanishing)+1)/2)}
	low, high := 0.95, 1.1
	for _, v := range a.Vanishing {
		for _, p := range v.Points {
			if p.Ratio.Known() {
				low, high = min(low, p.Ratio.Low), max(high, p.Ratio.High)
			}
		}
	}
	x := picture.Scale{Hi: 1, From: left, To: w - right}.At
	rows := picture.NewScale(low, high, h-bottom, top)
	s.AxisXAt([]float64{0, 0.2, 0.4, 0.6, 0.8, 1}, x, top, h-bottom, percent)
	s.AxisY(rows, left, w-right, times)
	y := rows.At
	s.Line(left, y(1), w-right, y(1), "base")
	s.Line(left, y(Limit), w-right, y(Limit), "ideal")
	for i, v := range a.Vanishing {
		series := i % 6
		var points [][2]float64
		for _, p := range v.Points {
			if !p.Ratio.Known() {
				continue
			}
			points = append(points, [2]float64{x(p.Load), y(p.Ratio.Value)})
			s.Line(x(p.Load), y(p.Ratio.Low), x(p.Load), y(p.Ratio.High), fmt.Sprintf("whisker k%d", series))
		}
		s.Path(points, fmt.Sprintf("trace k%d", series), false)
		for _, p := range v.Points {
			if p.Ratio.Known() {
				s.Dot(x(p.Load), y(p.Ratio.Value), series, fmt.Sprintf("%s: %s at %s load", v.Policy, p.Ratio.Brief(),
					percent(p.Load)))
			}
		}
		lx, ly := left+float64(i%2)*(w-left-right)/2, h+10+22*float64(i/2)
		s.Dot(lx+6, ly-4, series, v.Policy)
		s.Text(lx+18, ly, "start", "label", v.Policy)
	}
	return picture.Figure{
		Title: "From which load on it does not matter", Wide: true,
		Note: fmt.Sprintf("CPU time of a step against %s over the load, simulated, with intervals over %d replications. The dashed "+
			"line is 5 %%, below which an effect does not count.", a.Baseline.Name, a.Options.Replications),
		SVG: s.Done("Ratios over loads",
			"CPU time of each policy against the baseline over the load; the table below holds the same figures."),
	}
}

func times(ratio float64) string { return fmt.Sprintf("%.3gx", ratio) }

func tornado(a *Answer) picture.Figure {
	const w, left, right, row, top = 620.0, 184.0, 40.0, 34.0, 12.0
	bars := a.Sensitivity
	s := picture.SVG{ID: "tornado", W: w, H: top + row*float64(len(bars)) + 40}
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range bars {
		for _, v := range i.Settings {
			if v.Ratio.Known() {
				low, high = min(low, v.Ratio.Value), max(high, v.Ratio.Value)
			}
		}
	}
	if !(high-low > 0.02) {
		low, high = low-0.05, high+0.05
	}
	columns, bottom := picture.NewScale(low, high, left, w-right), top+row*float64(len(bars))
	s.AxisX(columns, top, bottom, times)
	x := columns.At
	assumed := bars[0].Settings[0].Ratio.Value
	if !math.IsNaN(assumed) {
		s.Line(x(assumed), top, x(assumed), bottom, "mark")
	}
	for k, i := range bars {
		y := top + row*float64(k) + row/2
		s.Text(left-10, y+4, "end", "name", i.Parameter)
		from, to := math.Inf(1), math.Inf(-1)
		for _, v := range i.Settings {
			if v.Ratio.Known() {
				from, to = min(from, v.Ratio.Value), max(to, v.Ratio.Value)
			}
		}
		if to > from {
			s.Rect(x(from), y-7, x(to)-x(from), 14, "bar", fmt.Sprintf("%s: %.2fx to %.2fx", i.Parameter, from, to))
		}
		for _, v := range i.Settings {
			if v.Ratio.Known() {
				s.Line(x(v.Ratio.Value), y-10, x(v.Ratio.Value), y+10, "none")
			}
		}
	}
	return picture.Figure{
		Title: "What the answer depends on", Wide: true,
		Note: fmt.Sprintf("CPU time of %s against %s%s, simulated, with one unknown changed at a time over the values that sources "+
			"leave open. The dashed line is the value assumed.",
			a.focus().String(), a.Baseline.Name, at(a.Comparisons[0])),
		SVG: s.Done("Sensitivity", "Range of the answer by unknown parameter; the table below holds the values."),
	}
}
