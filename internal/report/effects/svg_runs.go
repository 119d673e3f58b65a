package effects

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// runPoints is about how many runs of one level are drawn, so that a page of 100,000 runs stays small.
const runPoints = 500

// runsFigure draws a response's values over time, by level, so that drift is seen.
func runsFigure(id string, x *result.Experiment, runs []result.Run, r *result.Response) (picture.Figure, bool) {
	line := newTimeline(runs)
	all, gone, relative := seriesOf(x, runs, r, line.At)
	lo, hi, end, n := math.Inf(1), math.Inf(-1), float64(len(line.Since)), 0
	for _, s := range all {
		for _, v := range s.Value {
			lo, hi = min(lo, v), max(hi, v)
		}
		n += len(s.Value)
	}
	if n == 0 {
		return picture.Figure{}, false
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	yAxis := picture.Around(label(r), r.Unit, lo, hi)
	if relative {
		yAxis.Name, yAxis.Unit = label(r)+", against the median of its cell", picture.Gain
	}
	yAxis.Lo -= (yAxis.Hi - yAxis.Lo) / 14 // room for the crosses of runs that do not count
	s := picture.NewPlot(id, picture.Width, 200, names, line.axis(), yAxis)
	across, y, bottom := s.X, s.Y, s.Bottom
	t := &picture.Table{Caption: label(r) + " over time, by level",
		Head: []string{"Level", "Runs", "Contaminated", "Void or failed", "Median", "First third", "Last third", "Drift"}}
	var says []string
	for i := range all {
		one := &all[i]
		var pts [][2]float64
		for j := 0; j < len(one.Value); j += 1 + len(one.Value)/runPoints {
			pts = append(pts, [2]float64{across.At(one.At[j]), y.At(one.Value[j])})
		}
		trend(s.SVG, i, one, end, across, y)
		s.Marks(i, pts)
		t.Rows = append(t.Rows, driftRow(one, r, end, relative))
		says = append(says, one.Name+": "+strings.Join(t.Rows[i][1:], ", "))
	}
	step := max(1, len(gone)/60)
	var crosses strings.Builder
	for i := 0; i < len(gone); i += step {
		crosses.WriteString("M" + picture.Num(across.At(gone[i])) + " " + picture.Num(bottom-6) + "m-3-3l6 6m0-6l-6 6")
	}
	if len(gone) > 0 {
		s.Raw(fmt.Sprintf(`<path d="%s" class="gone"><title>%s</title></path>`, crosses.String(),
			html.EscapeString(fmt.Sprintf("%d void or failed runs, queued again", len(gone)))))
	}
	note := "Each mark is a run; lines join medians of twelfths of the runs. Levels of a block run in random order, so that drift " +
		"moves all of them alike."
	if relative {
		note = "Each run against the median of its own cell, as there are too many cells to keep apart; lines join medians of " +
			"twelfths of the runs. Drift moves all levels alike."
	}
	if n > runPoints*len(all) {
		note += fmt.Sprintf(" %d runs are too many to draw each of them; the CSV has all.", n)
	}
	if len(gone) > 0 {
		note += fmt.Sprintf(" Crosses at the bottom are %s that were void or failed and were queued again.",
			screen.Count(len(gone), "run"))
		if step > 1 {
			note += fmt.Sprintf(" One of %d is drawn.", step)
		}
	}
	title := picture.Short(label(r), 60) + " over time"
	return picture.Figure{Title: title, SVG: s.Done(title, strings.Join(says, "; ")), Note: note, Table: t}, true
}

// trend joins medians of twelfths of the runs, each at the mean of their places, so that the line meets a run that is
// alone.
func trend(s *picture.SVG, i int, one *series, end float64, x, y picture.Scale) {
	var at, values [12][]float64
	for j, t := range one.At {
		k := min(len(at)-1, int((t-1)/end*float64(len(at))))
		at[k], values[k] = append(at[k], t), append(values[k], one.Value[j])
	}
	var pts [][2]float64
	for k, v := range values {
		if len(v) > 0 {
			pts = append(pts, [2]float64{x.At(stat.Mean(at[k], nil)), y.At(stats.Median(v))})
		}
	}
	if len(pts) > 2 {
		s.Path(pts, fmt.Sprintf("trend k%d", i), false)
	}
}

// driftRow compares the first third of the time with the last.
func driftRow(one *series, r *result.Response, end float64, relative bool) []string {
	var first, last []float64
	for i, t := range one.At {
		if t <= end/3 {
			first = append(first, one.Value[i])
		} else if t > end*2/3 {
			last = append(last, one.Value[i])
		}
	}
	a, b := stats.Median(first), stats.Median(last)
	text, drift := func(v float64) string { return result.Format(v, r.Unit) }, "unknown"
	switch {
	case relative && known(a, b):
		text, drift = func(v float64) string { return number(v) + " %" }, number((1+b)/(1+a)-1)+" %"
	case a > 0 && known(a, b):
		drift = number(b/a-1) + " %"
	}
	return []string{one.Name, fmt.Sprint(len(one.Value)), fmt.Sprint(one.Marked), fmt.Sprint(one.Void),
		text(stats.Median(one.Value)), text(a), text(b), drift}
}

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

// axis counts the runs, and says how long they took.
func (t *timeline) axis() *picture.Axis {
	n := float64(len(t.Since))
	a := picture.Around("runs in their order", "", 1, n)
	div, unit := timeUnit(t.Since[len(t.Since)-1])
	if last := math.Round(t.Since[len(t.Since)-1]/div*10) / 10; last > 0 {
		a.Name += fmt.Sprintf("; the last began %g %s after the first", last, unit)
	}
	a.Ticks = slices.DeleteFunc(picture.Ticks(1, n), func(v float64) bool { return v != math.Trunc(v) || v < 1 })
	return a
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
