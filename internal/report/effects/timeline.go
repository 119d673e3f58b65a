package effects

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// timeline places runs on the axis of a picture in the order in which they began, and names the time
// there: on an axis of time, the pauses between the boots of a split plot would leave no room for runs.
type timeline struct {
	At    []float64 // by run: its place from 1; NaN for warm-ups
	Since []float64 // by place from 0: seconds since the first run
}

func newTimeline(runs []result.Run) timeline {
	t := timeline{At: make([]float64, len(runs))}
	var order []int
	for i := range runs {
		t.At[i] = math.NaN()
		if runs[i].Status != result.WarmUp {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return runs[a].Start.Compare(runs[b].Start) })
	for k, i := range order {
		t.At[i] = float64(k + 1)
		t.Since = append(t.Since, runs[i].Start.Sub(runs[order[0]].Start).Seconds())
	}
	return t
}

// axis draws grid and ticks between top and bottom, and names the axis.
func (t *timeline) axis(pic *picture.SVG, x picture.Scale, top, bottom float64) {
	div, unit := timeUnit(t.Since[len(t.Since)-1])
	ticks := slices.DeleteFunc(picture.Ticks(1, float64(len(t.Since))), func(v float64) bool { return v != math.Trunc(v) || v < 1 })
	pic.AxisXAt(ticks, x.At, top, bottom, func(v float64) string {
		return fmt.Sprintf("%g %s", math.Round(t.Since[int(v)-1]/div*10)/10, unit)
	})
	pic.Text((x.From+x.To)/2, pic.H-6, "middle", "axis", "runs in their order, and the time since the first")
}

func timeUnit(seconds float64) (div float64, unit string) {
	switch {
	case seconds < 180:
		return 1, "s"
	case seconds < 3*3600:
		return 60, "min"
	case seconds < 3*86400:
		return 3600, "h"
	}
	return 86400, "days"
}
