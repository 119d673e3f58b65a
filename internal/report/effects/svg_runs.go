package effects

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Runs are drawn one by one up to runPoints; more are drawn in runBins parts of their order,
// so that a page of 100,000 runs stays small.
const (
	runPoints = 1500
	runBins   = 90
)

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
	binned := n > runPoints
	if binned {
		lo, hi = binRange(all, end)
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
		if binned {
			drawBins(s.SVG, i, one, end, across, y)
		} else {
			var pts [][2]float64
			for j, v := range one.Value {
				pts = append(pts, [2]float64{across.At(one.At[j]), y.At(v)})
			}
			trend(s.SVG, i, one, end, across, y)
			s.Marks(i, pts)
		}
		t.Rows = append(t.Rows, driftRow(one, r, end, relative))
		says = append(says, one.Name+": "+strings.Join(t.Rows[i][1:], ", "))
	}
	marked := drawContaminated(s.SVG, all, across, y, bottom)
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
	if binned {
		note = fmt.Sprintf("%d runs, too many to draw one by one: in each of %d parts of the order the mark is the median and the "+
			"bar goes from the 5th to the 95th percentile. The CSV has every run.", n, runBins)
	}
	if marked > 0 {
		note += fmt.Sprintf(" Triangles are above %s that count though they are contaminated: a guard was broken each time.",
			screen.Count(marked, "run"))
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

// drawContaminated marks runs that count although a guard was broken, and returns how
// many there are. Many are drawn sparsely.
func drawContaminated(s *picture.SVG, all []series, x, y picture.Scale, bottom float64) int {
	var at [][2]float64
	for i := range all {
		for _, k := range all[i].Marks {
			at = append(at, [2]float64{x.At(all[i].At[k]), min(y.At(all[i].Value[k]), bottom)})
		}
	}
	if len(at) == 0 {
		return 0
	}
	var b strings.Builder
	for i := 0; i < len(at); i += max(1, len(at)/200) {
		b.WriteString("M" + picture.Num(at[i][0]) + " " + picture.Num(at[i][1]-5) + "l-4.5-7h9z")
	}
	s.Raw(fmt.Sprintf(`<path d="%s" class="doubt"><title>%s</title></path>`, b.String(),
		html.EscapeString(fmt.Sprintf("contaminated runs: %d", len(at)))))
	return len(at)
}

// trend joins medians of twelfths of the runs.
func trend(s *picture.SVG, i int, one *series, end float64, x, y picture.Scale) {
	var pts [][2]float64
	for _, b := range bins(one, end, 12) {
		pts = append(pts, [2]float64{x.At(b.at), y.At(stats.SortedQuantile(b.values, 0.5))})
	}
	if len(pts) > 2 {
		s.Path(pts, fmt.Sprintf("trend k%d", i), false)
	}
}

// bin is a stretch of time with its values, sorted.
type bin struct {
	at     float64 // the mean of its runs' places, so that the line meets a run that is alone
	values []float64
}

func bins(one *series, end float64, n int) []bin {
	all := make([]bin, n)
	for i, t := range one.At {
		k := min(n-1, int((t-1)/end*float64(n)))
		all[k].values, all[k].at = append(all[k].values, one.Value[i]), all[k].at+t
	}
	var out []bin
	for k := range all {
		if m := float64(len(all[k].values)); m > 0 {
			all[k].at /= m
			slices.Sort(all[k].values)
			out = append(out, all[k])
		}
	}
	return out
}

func binRange(all []series, end float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range all {
		for _, b := range bins(&all[i], end, runBins) {
			lo, hi = min(lo, stats.SortedQuantile(b.values, 0.05)), max(hi, stats.SortedQuantile(b.values, 0.95))
		}
	}
	return lo, hi
}

func drawBins(s *picture.SVG, i int, one *series, end float64, x, y picture.Scale) {
	var pts [][2]float64
	var bars strings.Builder
	shift := (float64(i) - 1) * 1.2 // so that bars of series do not hide each other
	for _, b := range bins(one, end, runBins) {
		at := x.At(b.at) + shift
		fmt.Fprintf(&bars, "M%s %sV%s", picture.Num(at), picture.Num(y.At(stats.SortedQuantile(b.values, 0.05))),
			picture.Num(y.At(stats.SortedQuantile(b.values, 0.95))))
		pts = append(pts, [2]float64{at, y.At(stats.SortedQuantile(b.values, 0.5))})
	}
	if len(pts) > 0 {
		s.Raw(fmt.Sprintf(`<path d="%s" class="bins k%d"/>`, bars.String(), i))
	}
	s.Marks(i, pts)
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
	return []string{one.Name, fmt.Sprint(len(one.Value)), fmt.Sprint(len(one.Marks)), fmt.Sprint(one.Void),
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
