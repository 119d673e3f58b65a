package picture

import (
	"fmt"
	"math"

	"hostlab/internal/result"
)

// Histogram draws shares per unit of log time, as steps scaled to the tallest.
func (s *SVG) Histogram(d result.Distribution, series int, x func(float64) float64, base, height float64) {
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

// Extent is the range in which a distribution has counts.
func Extent(d result.Distribution) (lo, hi float64, ok bool) {
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
