package report

import (
	"fmt"
	"math"

	"hostlab/internal/host"
	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// frequencyPicture draws each CPU's frequency as a share of its maximum, by
// which sleeping processors are seen. Empty where the host shows none.
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
	if len(bars) == 0 {
		return ""
	}
	width := picture.Width
	if len(bars) > 64 {
		width = picture.Wide
	}
	hi, sum, low := 100.0, 0.0, math.Inf(1)
	for _, b := range bars {
		hi, low = max(hi, b.pct), min(low, b.pct)
		sum += b.pct
	}
	n := float64(len(bars))
	names := make([]float64, len(bars))
	for i := range names {
		names[i] = float64(i) + 0.5
	}
	s := picture.NewPlot("frequency", width, 170, nil,
		&picture.Axis{Name: "CPU", Hi: n, Ticks: names, Text: func(v float64) string { return fmt.Sprint(bars[int(v)].cpu) }},
		&picture.Axis{Name: "share of the highest frequency", Unit: "%", Hi: hi * 1.04})
	s.Line(s.Left, s.Y.At(100), s.Right, s.Y.At(100), "ideal")
	pitch := (s.Right - s.Left) / n
	wide := min(pitch*0.8, 46)
	if pitch < 3 {
		wide = pitch // no gap: a gap of a third of a pixel only shimmers
	}
	for i, b := range bars {
		title := fmt.Sprintf("CPU %d: %.0f %% of maximum", b.cpu, b.pct)
		if !math.IsNaN(b.now) {
			title += ", " + result.Format(b.now, "Hz")
		}
		s.Rect(s.X.At(names[i])-wide/2, s.Y.At(b.pct), wide, s.Bottom-s.Y.At(b.pct), "bar", title)
	}
	return s.Done("Frequency of each CPU", fmt.Sprintf("%d CPUs at %.0f %% of maximum on average, the lowest at %.0f %%.",
		len(bars), sum/n, low))
}
