package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/lever"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// wakeupRows is how many ratios the wake-up picture has room for.
const wakeupRows = 24

// wakeupPicture draws how much longer a slice of work takes after sleep than awake, on each CPU and
// with each kernel, over a band as wide as its noise floor. Empty without data.
func wakeupPicture(all []result.Measurement) picture.HTML {
	var rows []result.Measurement
	for _, m := range all {
		// The cold-cache ratio is a quotient of two that are drawn.
		if (m.Kind == probe.WakeALU || m.Kind == probe.WakeMixed) && m.Labels.CPU != nil && drawable(&m) {
			rows = append(rows, m)
		}
	}
	total := len(rows)
	if total == 0 {
		return ""
	}
	if total > wakeupRows { // the worst ones, then in reading order
		slices.SortStableFunc(rows, func(a, b result.Measurement) int {
			return cmp.Compare(b.Estimate.Value, a.Estimate.Value)
		})
		rows = rows[:wakeupRows]
	}
	slices.SortStableFunc(rows, func(a, b result.Measurement) int {
		return cmp.Or(cmp.Compare(a.Labels.Slice, b.Labels.Slice), cmp.Compare(*a.Labels.CPU, *b.Labels.CPU),
			cmp.Compare(a.Kind, b.Kind))
	})
	seen := []float64{0.98, 1.05}
	var bars []picture.Bar
	for i := range rows {
		m, series, kernel := &rows[i], 0, "arithmetic"
		if m.Kind == probe.WakeMixed {
			series, kernel = 1, "with memory"
		}
		e := m.Estimate
		seen = append(seen, e.Value, e.Low, e.High)
		name := fmt.Sprintf("%s, CPU %d", picture.Round(m.Labels.Slice, "s"), *m.Labels.CPU)
		bars = append(bars, picture.Bar{Name: name, Below: kernel, Said: kernel + ", " + name + ": " + lever.Figure(m),
			Value: e.Value, Low: e.Low, High: e.High, Band: valueOr(m.NoiseFloor, 0),
			BandSaid: "noise floor " + lever.Floor(m), Floor: math.NaN(), Series: series})
	}
	note := "time after 100 ms asleep over time awake; 1x is no effect"
	if total > len(rows) {
		note += fmt.Sprintf("; the worst %d of %d", len(rows), total)
	}
	return picture.Bars("wakeup", "Wake-up penalty by slice", picture.Around(note, "ratio", seen...), 1, bars)
}
