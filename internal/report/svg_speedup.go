package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// speedupPicture draws speed-up over degree with intervals and the ideal line;
// both axes are logarithmic from degree 16 on. Empty without data.
func speedupPicture(all []result.Measurement) template.HTML {
	type point struct {
		d int
		m result.Measurement
	}
	var pts []point
	for _, m := range all {
		if d := m.Labels.Degree; d > 0 && m.Kind == probe.SpeedUp && drawable(&m) {
			pts = append(pts, point{d, m})
		}
	}
	if len(pts) == 0 {
		return ""
	}
	if base := 1.0; !slices.ContainsFunc(pts, func(p point) bool { return p.d == 1 }) {
		nan := math.NaN() // the baseline, by definition
		pts = append(pts, point{1, result.Measurement{Unit: "ratio", Estimate: &result.Estimate{Value: base, Low: nan, High: nan}}})
	}
	slices.SortFunc(pts, func(a, b point) int { return a.d - b.d })
	most := float64(pts[len(pts)-1].d)
	const left, right, top, height = 46.0, 20.0, 16.0, 250.0
	s := &picture.SVG{ID: "speedup", W: 480, H: top + height + 44}
	log := most >= 16
	across := picture.Scale{Hi: most * 1.08, From: left, To: s.W - right}
	if log {
		across.Lo, across.Hi, across.Log = math.Log(0.8), math.Log(most*1.08), true
	}
	up := across
	up.From, up.To = top+height, top
	x, y := across.At, up.At
	var marks []float64
	if log {
		for v := 1.0; v <= most; v *= 2 {
			if most <= 64 || int(math.Round(math.Log2(v)))%2 == 0 || v*2 > most {
				marks = append(marks, v)
			}
		}
	} else {
		for v := 0.0; v <= most; v += math.Ceil(most / 8) {
			marks = append(marks, v)
		}
	}
	s.AxisYAt(up, marks, left, s.W-right, func(v float64) string { return fmt.Sprintf("%gx", v) })
	s.AxisXAt(marks, x, top+height, top+height, func(v float64) string { return fmt.Sprintf("%g", v) })
	s.Line(left, top+height, s.W-right, top+height, "base")
	start := 0.0
	if log {
		start = 1
	}
	s.Line(x(start), y(start), x(most), y(most), "ideal")
	s.Text(x(most)-10, y(most)+2, "end", "note", "ideal")
	s.Text((left+s.W-right)/2, s.H-6, "middle", "axis", "degree of parallelism")
	var curve [][2]float64
	var says []string
	for _, p := range pts {
		curve = append(curve, [2]float64{x(float64(p.d)), y(p.m.Estimate.Value)})
	}
	s.Path(curve, "curve", false)
	for i, p := range pts {
		e := p.m.Estimate
		px := x(float64(p.d))
		if e.HasInterval() {
			s.Line(px, y(e.Low), px, y(e.High), "whisker k0")
			s.Line(px-4, y(e.Low), px+4, y(e.Low), "whisker k0")
			s.Line(px-4, y(e.High), px+4, y(e.High), "whisker k0")
		}
		if p.d == 1 {
			says = append(says, "degree 1: the baseline")
		} else {
			says = append(says, fmt.Sprintf("degree %d: %s", p.d, lever.Figure(&p.m)))
		}
		s.Dot(px, y(e.Value), 0, says[i])
		anchor := "start"
		if px > s.W-90 {
			anchor = "end"
		}
		if len(pts) <= 4 || i == len(pts)-1 || i == len(pts)/2 {
			s.Text(min(px+8, s.W-right), y(min(e.Value, valueOr(e.Low, e.Value)))+24, anchor, "note", result.Format(e.Value, "ratio"))
		}
	}
	return s.Done("Speed-up by degree", "Speed-up of a cached query over degree 1. "+strings.Join(says, "; "))
}

func valueOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}
