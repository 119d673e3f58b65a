package picture

import (
	"fmt"
	"html/template"
	"math"

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
func Panels(id, title, axis, says string, panels []Panel) template.HTML {
	const left, right, height, top = 12.0, 12.0, 74.0, 6.0
	s := &SVG{ID: id, W: 480, H: top + 42}
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
	bottom := top + height*float64(len(shown))
	s.H += bottom - top
	at := s.AxisLog(lo, hi, left, s.W-right, top, bottom, shown[0].Unit)
	for i, p := range shown {
		base := top + height*float64(i+1) - 6
		s.histogram(p.Distribution, i%3, at, base, height-30)
		s.Line(left, base, s.W-right, base, "base")
		for _, v := range p.Marks {
			s.Line(at(v), base-height+30, at(v), base+4, "mark")
		}
		s.Text(476, base-height+22, "end", "note", p.Note)
		s.Label(4, base-height+22, 464-TextWidth(p.Note), 1, "name", p.Name)
	}
	s.Text(240, s.H-4, "middle", "axis", axis)
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

// extent is the range in which a distribution has counts.
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
