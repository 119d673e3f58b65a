package picture

import (
	"fmt"
	"math"
	"strings"

	"hostlab/internal/result"
)

// Panel is a distribution with its name, what stands at the other end of the line, and the values
// that are marked in it.
type Panel struct {
	result.Distribution
	Name, Note string
	Marks      []float64
}

// Panels draws distributions below each other on one logarithmic axis, each scaled to its own peak.
// Those without counts are left out; without any, there is no picture.
func Panels(id, title, axis, says string, panels []Panel) HTML {
	const height = 78.0
	lo, hi := math.Inf(1), math.Inf(-1)
	var shown []Panel
	for _, p := range panels {
		if a, b, ok := extent(p.Distribution); ok {
			lo, hi, shown = min(lo, a), max(hi, b), append(shown, p)
		}
	}
	if shown == nil {
		return ""
	}
	if hi < 3*lo {
		lo, hi = lo/1.8, hi*1.8
	}
	s := NewPlot(id, Width, height*float64(len(shown)), nil,
		&Axis{Name: axis, Unit: shown[0].Unit, Lo: lo, Hi: hi, Log: true}, nil)
	for i, p := range shown {
		base := s.Top + height*float64(i+1) - 6
		s.histogram(p.Distribution, i%3, s.X.At, base, height-48)
		s.Line(s.Left, base, s.Right, base, "base")
		for _, v := range p.Marks {
			s.Line(s.X.At(v), base-height+48, s.X.At(v), base+4, "mark")
		}
		s.Label(4, base-height+22, s.W-8, 1, "name", p.Name)
		s.Text(s.W-4, base-height+38, "end", "note", p.Note)
	}
	return s.Done(title, says)
}

// histogram draws shares per unit of log time, as steps scaled to the tallest.
func (s *SVG) histogram(d result.Distribution, series int, x func(float64) float64, base, height float64) {
	type bin struct{ a, b, y float64 }
	var bins []bin
	top := 0.0
	for i, n := range d.Count {
		if i >= len(d.Edge) || d.Edge[i] <= 0 {
			continue
		}
		a := d.Edge[i] / 1.12
		if i > 0 && d.Edge[i-1] > 0 {
			a = d.Edge[i-1]
		}
		y := float64(n) / math.Log10(d.Edge[i]/a)
		bins, top = append(bins, bin{a, d.Edge[i], y}), max(top, y)
	}
	first, last := -1, -1
	for i, b := range bins {
		if b.y > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return
	}
	points := [][2]float64{{x(bins[first].a), base}}
	for _, b := range bins[first : last+1] {
		y := base - b.y/top*height
		if b.y > 0 {
			y = min(y, base-1.2) // a single slow commit is worth seeing
		}
		points = append(points, [2]float64{x(b.a), y}, [2]float64{x(b.b), y})
	}
	points = append(points, [2]float64{x(bins[last].b), base})
	s.Path(points, fmt.Sprintf("area a%d", series), true)
}

func extent(d result.Distribution) (lo, hi float64, ok bool) {
	for i, n := range d.Count {
		if n == 0 || i >= len(d.Edge) || d.Edge[i] <= 0 {
			continue
		}
		if !ok {
			lo = d.Edge[i] / 1.12
			if i > 0 && d.Edge[i-1] > 0 {
				lo = d.Edge[i-1]
			}
		}
		hi, ok = d.Edge[i], true
	}
	return lo, hi, ok
}

// Bar is an estimate with its interval, over a band around no effect in which it means nothing.
type Bar struct {
	Name, Below      string // its label, and what it is in figures
	Said             string // all of it in words
	Value, Low, High float64
	Band             float64
	BandSaid         string
	Floor            float64   // at both sides of no effect, in brackets; NaN: none
	Marks            []float64 // values that were tried
	Series           int
}

// Bars draws bars below each other on one axis, on which none is no effect. Each stands below its label.
func Bars(id, title string, axis *Axis, none float64, bars []Bar) HTML {
	const line, bar = 16.0, 26.0
	heights, all := make([]float64, len(bars)), 0.0
	for i, b := range bars {
		heights[i] = bar + line*float64(1+len(b.below()))
		all += heights[i]
	}
	s := NewPlot(id, Width, all, nil, axis, nil)
	var says []string
	at := s.X.At
	y := s.Top
	for i, b := range bars {
		below, class := b.below(), fmt.Sprintf("whisker k%d", b.Series)
		mid := y + heights[i] - bar/2 - 1
		if b.Band > 0 {
			s.Rect(at(none-b.Band), mid-9, at(none+b.Band)-at(none-b.Band), 18, "floor", b.BandSaid)
		}
		if b.beside() {
			s.Text(s.W-4, y+13, "end", "tick", b.Below)
		}
		s.Label(4, y+13, s.W-8, 1, "name", b.Name)
		for n, l := range below {
			s.Text(4, y+13+line*float64(n+1), "start", "tick", l)
		}
		upright := func(v, half float64, class string) { s.Line(at(v), mid-half, at(v), mid+half, class) }
		for _, v := range []float64{none - b.Floor, none + b.Floor} {
			if v >= s.X.Lo && v <= s.X.Hi {
				upright(v, 6, "ideal")
			}
		}
		upright(none, 12, "none")
		if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
			s.Line(at(b.Low), mid, at(b.High), mid, class)
			upright(b.Low, 4, class)
			upright(b.High, 4, class)
		}
		for _, v := range b.Marks {
			upright(v, 6, class)
		}
		if b.Marks == nil {
			s.Dot(at(b.Value), mid, b.Series, b.Said)
		}
		says = append(says, b.Said)
		y += heights[i]
	}
	return s.Done(title, strings.Join(says, "; "))
}

// beside reports whether the figures have room behind the label.
func (b *Bar) beside() bool { return TextWidth(b.Name)+TextWidth(b.Below)+16 <= Width-8 }

// below are the figures in lines, where they have none there.
func (b *Bar) below() []string {
	if b.beside() {
		return nil
	}
	lines, _ := Lines(b.Below, Width-8, 2) // as for an axis' title
	return lines
}

// Course is a series of a picture of lines: what was seen at moments, or at other values of x.
type Course struct {
	Name      string
	X, Y      []float64
	Low, High []float64 // intervals; nil: there are none
	Step      bool      // what was seen holds until the next
}

// Courses draws courses over two axes. A line joins what was seen, each marked by its series' shape.
func Courses(id, title, says string, x, y *Axis, marks []float64, all []Course) HTML {
	var names []string
	for _, c := range all {
		names = append(names, Short(c.Name, 40))
	}
	if len(all) == 1 { // the axis says it
		names = nil
	}
	s := NewPlot(id, Width, 190, names, x, y)
	for _, v := range marks {
		s.Line(s.Left, s.Y.At(v), s.Right, s.Y.At(v), "ideal")
	}
	for i, c := range all {
		series := i % len(seriesMarks)
		var line, seen [][2]float64
		for k, v := range c.Y {
			if math.IsNaN(v) {
				continue
			}
			at := [2]float64{s.X.At(c.X[k]), s.Y.At(v)}
			if c.Low != nil {
				s.Interval(at[0], c.Low[k], c.High[k], fmt.Sprintf("whisker k%d", series))
			}
			if c.Step && len(line) > 0 {
				line = append(line, [2]float64{at[0], line[len(line)-1][1]})
			}
			line, seen = append(line, at), append(seen, at)
		}
		s.Path(line, fmt.Sprintf("trace k%d", series), false)
		if c.Step {
			seen = seen[:min(1, len(seen))] // its corners show the others
		}
		s.Marks(series, seen)
	}
	return s.Done(title, strings.TrimSpace(says))
}
