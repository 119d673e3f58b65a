package report

import (
	"fmt"
	"math"

	"hostlab/internal/host"
	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// frequencyPicture draws each CPU's frequency as a share of its maximum, by
// which sleeping processors are seen. It says so where the host shows none.
func frequencyPicture(f *host.Facts) picture.HTML {
	type bar struct {
		cpu      int
		pct, now float64
	}
	var bars []bar
	if f != nil {
		for _, c := range f.Frequency.Current {
			if p, ok := c.Percent.Get(); ok && !math.IsNaN(p) {
				hz, known := c.Frequency.Get()
				b := bar{c.CPU, p, math.NaN()}
				if known {
					b.now = float64(hz)
				}
				bars = append(bars, b)
			}
		}
	}
	s := &picture.SVG{ID: "frequency", W: 480}
	if len(bars) == 0 {
		s.H = 64
		s.Text(s.W/2, 38, "middle", "name", "this host shows no frequency")
		return s.Done("Frequency of each CPU", "This host shows no frequency.")
	}
	if len(bars) > 64 {
		s.W, s.Wide = 960, true
	}
	const left, right, top, height = 48.0, 12.0, 16.0, 190.0
	s.H = top + height + 42
	hi, sum, low := 100.0, 0.0, math.Inf(1)
	for _, b := range bars {
		hi, low = max(hi, b.pct), min(low, b.pct)
		sum += b.pct
	}
	axis := picture.Scale{Hi: hi * 1.04, From: top + height, To: top}
	y := axis.At
	s.AxisYAt(axis, []float64{0, 25, 50, 75, 100}, left, s.W-right,
		func(v float64) string { return fmt.Sprintf("%g %%", v) })
	s.Line(left, y(100), s.W-right, y(100), "ideal")
	pitch := (s.W - left - right) / float64(len(bars))
	width := min(pitch*0.8, 46)
	if pitch < 3 {
		width = pitch // no gap: a gap of a third of a pixel only shimmers
	}
	every := 1 // CPU has a label, a power of 2
	for pitch*float64(every) < 34 {
		every *= 2
	}
	for i, b := range bars {
		x := left + pitch*float64(i) + (pitch-width)/2
		title := fmt.Sprintf("CPU %d: %.0f %% of maximum", b.cpu, b.pct)
		if !math.IsNaN(b.now) {
			title += ", " + result.Format(b.now, "Hz")
		}
		s.Rect(x, y(b.pct), width, top+height-y(b.pct), "bar", title)
		if i%every == 0 {
			s.Text(x+width/2, top+height+18, picture.AnchorAt(x+width/2, s.W, fmt.Sprint(b.cpu)), "tick", fmt.Sprint(b.cpu))
		}
	}
	s.Text(s.W/2, s.H-6, "middle", "axis", "CPU")
	return s.Done("Frequency of each CPU", fmt.Sprintf("%d CPUs at %.0f %% of maximum on average, the lowest at %.0f %%.",
		len(bars), sum/float64(len(bars)), low))
}
