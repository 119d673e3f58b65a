package report

import (
	"fmt"
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
func speedupPicture(all []result.Measurement) picture.HTML {
	var pts []result.Measurement
	for _, m := range all {
		if m.Labels.Degree > 0 && m.Kind == probe.SpeedUp && drawable(&m) {
			pts = append(pts, m)
		}
	}
	if len(pts) == 0 {
		return ""
	}
	if !slices.ContainsFunc(pts, func(m result.Measurement) bool { return m.Labels.Degree == 1 }) {
		nan := math.NaN() // the baseline, by definition
		pts = append(pts, result.Measurement{Unit: "ratio", Labels: result.Labels{Degree: 1},
			Estimate: &result.Estimate{Value: 1, Low: nan, High: nan}})
	}
	slices.SortStableFunc(pts, func(a, b result.Measurement) int { return a.Labels.Degree - b.Labels.Degree })
	most := float64(pts[len(pts)-1].Labels.Degree)
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
	for _, m := range pts {
		curve = append(curve, [2]float64{x(float64(m.Labels.Degree)), y(m.Estimate.Value)})
	}
	s.Path(curve, "curve", false)
	for i, m := range pts {
		e, px := m.Estimate, curve[i][0]
		if e.HasInterval() {
			s.Line(px, y(e.Low), px, y(e.High), "whisker k0")
			s.Line(px-4, y(e.Low), px+4, y(e.Low), "whisker k0")
			s.Line(px-4, y(e.High), px+4, y(e.High), "whisker k0")
		}
		if m.Labels.Degree == 1 {
			says = append(says, "degree 1: the baseline")
		} else {
			says = append(says, fmt.Sprintf("degree %d: %s", m.Labels.Degree, lever.Figure(&m)))
		}
		s.Dot(px, y(e.Value), 0, says[i])
		anchor := "start"
		if px > s.W-90 {
			anchor = "end"
		}
		if len(pts) <= 4 || i == len(pts)-1 || i == len(pts)/2 {
			s.Text(min(px+8, s.W-right), y(min(e.Value, valueOr(e.Low, e.Value)))+24, anchor, "note",
				result.Format(e.Value, "ratio"))
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
