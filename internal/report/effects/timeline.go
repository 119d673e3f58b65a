package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// A pause between two runs is cut out of the axis of time where it is more than
// pauseSteps times the usual time from run to run and more than pauseShare of the
// time without such pauses: otherwise it hides nothing. More than maxPauses, as
// between the boots of a split plot, and the axis is the order of the runs.
const (
	pauseSteps = 20
	pauseShare = 0.05
	maxPauses  = 4
)

// timeline places runs on the axis of a picture.
type timeline struct {
	At      []float64 // by run: seconds since the first without pauses, or its rank from 1; NaN for warm-ups
	End     float64
	Pauses  []pause
	Ordered bool
	Longest float64 // of all pauses, in seconds
}

// pause is one that was cut out.
type pause struct{ At, Seconds float64 }

func newTimeline(runs []result.Run) timeline {
	t := timeline{At: make([]float64, len(runs))}
	var order []int
	for i := range runs {
		t.At[i] = math.NaN()
		if runs[i].Status != result.WarmUp {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return t
	}
	slices.SortStableFunc(order, func(a, b int) int { return runs[a].Start.Compare(runs[b].Start) })
	steps := make([]float64, len(order)-1)
	for k := range steps {
		steps[k] = runs[order[k+1]].Start.Sub(runs[order[k]].Start).Seconds()
	}
	usual := 0.0
	if sorted := slices.Sorted(slices.Values(steps)); len(sorted) > 0 {
		usual = sorted[(len(sorted)-1)/2]
	}
	long := func(k int) bool { return steps[k] > pauseSteps*usual }
	active := 0.0
	for k := range steps {
		if !long(k) {
			active += steps[k]
		}
	}
	now := 0.0
	t.At[order[0]] = now
	for k, step := range steps {
		if long(k) && step > pauseShare*active {
			idle := step - runs[order[k]].Seconds
			t.Longest = max(t.Longest, idle)
			t.Pauses = append(t.Pauses, pause{now + usual/2, idle})
			step = usual
		}
		now += step
		t.At[order[k+1]] = now
	}
	t.End = now
	if len(t.Pauses) > maxPauses || len(t.Pauses) > 0 && usual == 0 {
		t.Ordered, t.Pauses = true, nil
		for k, i := range order {
			t.At[i] = float64(k + 1)
		}
		t.End = float64(len(order))
	}
	return t
}

// pauseWidth is how much of the picture a cut takes.
const pauseWidth = 16

// timeScale maps a timeline to a picture, with room for cuts.
type timeScale struct {
	picture.Scale
	line *timeline
}

func newTimeScale(t *timeline, from, to float64) timeScale {
	s := timeScale{picture.NewScale(0, max(t.End, 1e-9), from, to-pauseWidth*float64(len(t.Pauses))), t}
	s.Lo = 0
	return s
}

// At returns where a moment stands, behind the cuts before it.
func (s timeScale) At(v float64) float64 {
	x := s.Scale.At(v)
	for _, p := range s.line.Pauses {
		if v > p.At {
			x += pauseWidth
		}
	}
	return x
}

// axis draws grid, ticks and cuts between top and bottom, and names the axis.
func (s timeScale) axis(pic *picture.SVG, top, bottom float64) {
	div, unit := timeUnit(s.line.End)
	name := "time since the first run"
	switch {
	case s.line.Ordered:
		div, unit, name = 1, "", "runs in their order"
	case len(s.line.Pauses) > 0:
		name = "time since the first run, without the pauses"
	}
	ticks := picture.Ticks(s.Lo/div, s.Hi/div)
	if s.line.Ordered {
		ticks = slices.DeleteFunc(ticks, func(v float64) bool { return v != math.Trunc(v) || v == 0 })
	}
	pic.AxisXAt(ticks, func(v float64) float64 { return s.At(v * div) }, top, bottom,
		func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%g %s", math.Round(v*1e3)/1e3, unit)) })
	free := 0.0
	for _, p := range s.line.Pauses {
		x := s.At(p.At) + pauseWidth/2
		said := "pause of " + pauseText(p.Seconds)
		pic.Rect(x-pauseWidth/4, top, pauseWidth/2, bottom-top, "cut", said)
		pic.Line(x-7, bottom+5, x-1, bottom-5, "base")
		pic.Line(x+1, bottom+5, x+7, bottom-5, "base")
		// A label that would touch the one before is left out; the note names all.
		left := min(max(x-picture.TextWidth(said)/2, 0), pic.W-picture.TextWidth(said))
		if left >= free {
			pic.Text(left, top-4, "start", "tick", said)
			free = left + picture.TextWidth(said) + 8
		}
	}
	pic.Text((s.From+pic.W-12)/2, pic.H-6, "middle", "axis", name)
}

// note says what the axis hides; "" for nothing.
func (t *timeline) note() string {
	switch {
	case t.Ordered:
		return fmt.Sprintf(" Runs stand in their order, as pauses of up to %s between them would hide them.", pauseText(t.Longest))
	case len(t.Pauses) > 0:
		var each []string
		for _, p := range t.Pauses {
			each = append(each, pauseText(p.Seconds))
		}
		what := "A pause of "
		if len(each) > 1 {
			what = "Pauses of "
		}
		verb := map[bool]string{false: " is", true: " are"}[len(each) > 1]
		return " " + what + strings.Join(each, ", ") + verb + " cut out, where the axis is broken."
	}
	return ""
}

func pauseText(seconds float64) string {
	if seconds < 1 {
		return picture.Round(seconds, "s")
	}
	return duration(seconds)
}
