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

// Bar is an estimate with its interval, over a band around 0 in which it means nothing.
type Bar struct {
	Name, Below      string // its label, and the line under that
	Said             string // all of it in words
	Value, Low, High float64
	Band             float64
	BandSaid         string
	Floor            float64 // at both sides of 0, in brackets; NaN: none
	Series           int
}

// Bars draws bars below each other on one axis from lo to hi. What axis says stands below it.
func Bars(id, title string, bars []Bar, lo, hi float64, text func(float64) string, axis string) HTML {
	left, pitch := labelColumn(bars)
	const top = 8.0
	bottom := top + pitch*float64(len(bars))
	s := &SVG{ID: id, W: 480, H: bottom + 46}
	sc := NewScale(lo, hi, left+labelGap, 468)
	s.AxisX(sc, top, bottom, text)
	var says []string
	for i, b := range bars {
		y := top + pitch*float64(i)
		mid, class := y+pitch/2, fmt.Sprintf("whisker k%d", b.Series)
		s.Rect(sc.At(-b.Band), mid-9, sc.At(b.Band)-sc.At(-b.Band), 18, "floor", b.BandSaid)
		n := s.Label(4, y+20, left, 2, "name", b.Name)
		s.Label(4, y+20+16*float64(n), left, 1, "tick", b.Below)
		upright := func(v, half float64, class string) { s.Line(sc.At(v), mid-half, sc.At(v), mid+half, class) }
		for _, v := range []float64{-b.Floor, b.Floor} {
			if v >= sc.Lo && v <= sc.Hi {
				upright(v, 6, "ideal")
			}
		}
		upright(0, 12, "none")
		if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
			s.Line(sc.At(b.Low), mid, sc.At(b.High), mid, class)
			upright(b.Low, 4, class)
			upright(b.High, 4, class)
		}
		s.Dot(sc.At(b.Value), mid, b.Series, b.Said)
		says = append(says, b.Said)
	}
	s.Text(240, s.H-6, "middle", "axis", axis)
	return s.Done(title, strings.Join(says, "; "))
}

// The column of labels beside the bars is as wide as they need, up to mostLabel; a
// name takes two lines where it must.
const (
	mostLabel = 200.0
	labelGap  = 16.0
)

func labelColumn(bars []Bar) (width, pitch float64) {
	lines := 1
	for _, b := range bars {
		n, _ := Lines(b.Name, mostLabel, 2)
		lines = max(lines, len(n))
		for _, l := range append(n, b.Below) {
			width = max(width, TextWidth(l))
		}
	}
	return min(width, mostLabel) + 4, float64(16*(lines+1) + 16)
}
