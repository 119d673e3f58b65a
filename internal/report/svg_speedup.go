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
	log := most >= 16
	across := picture.Axis{Name: "degree of parallelism", Hi: most * 1.08, Ticks: []float64{},
		Text: func(v float64) string { return fmt.Sprint(v) }}
	if log {
		across.Lo, across.Log = 0.8, true
		for v := 1.0; v <= most; v *= 2 {
			across.Ticks = append(across.Ticks, v)
		}
	} else {
		for v := 0.0; v <= most; v += math.Ceil(most / 8) {
			across.Ticks = append(across.Ticks, v)
		}
	}
	up := across
	up.Name, up.Text = "speed-up over degree 1; dashed: ideal", func(v float64) string { return fmt.Sprintf("%gx", v) }
	s := picture.NewPlot("speedup", picture.Width, 220, nil, &across, &up)
	x, y := s.X.At, s.Y.At
	start := 0.0
	if log {
		start = 1
	}
	s.Line(x(start), y(start), x(most), y(most), "ideal")
	var curve [][2]float64
	var says []string
	for _, m := range pts {
		curve = append(curve, [2]float64{x(float64(m.Labels.Degree)), y(m.Estimate.Value)})
	}
	s.Path(curve, "curve", false)
	for i, m := range pts {
		e, px := m.Estimate, curve[i][0]
		s.Interval(px, e.Low, e.High, "whisker k0")
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
			s.Text(min(px+8, s.Right), y(min(e.Value, valueOr(e.Low, e.Value)))+24, anchor, "note",
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
