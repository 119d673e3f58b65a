package report

import (
	"cmp"
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

// wakeupRows is how many rows the wake-up picture has room for.
const wakeupRows = 18

// wakeupPicture draws the wake-up ratios: a row for each slice and CPU, a marker
// with its interval for each kernel over a band as wide as its noise floor, and
// the line of no effect. Empty without data.
func wakeupPicture(all []result.Measurement) template.HTML {
	rows, kernels := wakeupTable(all)
	if len(rows) == 0 {
		return ""
	}
	total := len(rows)
	if total > wakeupRows { // the worst ones, then in reading order again
		slices.SortStableFunc(rows, func(a, b wakeupRow) int { return cmp.Compare(b.worst(), a.worst()) })
		rows = rows[:wakeupRows]
	}
	slices.SortStableFunc(rows, func(a, b wakeupRow) int {
		return cmp.Or(cmp.Compare(a.slice, b.slice), cmp.Compare(a.cpu, b.cpu))
	})
	const left, right, top, pitch = 124.0, 16.0, 34.0, 26.0
	s := &svg{picture.SVG{ID: "wakeup", W: 480, H: top + pitch*float64(len(rows)) + 46}}
	lo, hi := 0.98, 1.05
	for _, r := range rows {
		for _, m := range r.by {
			e := m.Estimate
			lo, hi = min(lo, valueOr(e.Low, e.Value)), max(hi, valueOr(e.High, e.Value))
		}
	}
	axis := picture.NewScale(lo, hi, left, s.W-right)
	x := axis.At
	bottom := top + pitch*float64(len(rows))
	s.AxisX(axis, top-4, bottom, func(v float64) string { return result.Format(v, "ratio") })
	for i, k := range kernels {
		at := left + 150*float64(i)
		s.Dot(at+5, 14, i, kernelWord(k))
		s.Text(at+16, 18, "start", "name", kernelWord(k))
	}
	var says []string
	for i, r := range rows {
		mid := top + pitch*(float64(i)+0.5)
		s.Text(left-10, mid+4, "end", "tick", fmt.Sprintf("%s, CPU %d", picture.Round(r.slice, "s"), r.cpu))
		for k, name := range kernels {
			m, ok := r.by[name]
			if !ok {
				continue
			}
			at := mid + (float64(k)-float64(len(kernels)-1)/2)*10
			if band := valueOr(m.NoiseFloor, 0); band > 0 {
				s.Rect(x(1-band), at-4.5, x(1+band)-x(1-band), 9, "floor", "noise floor "+floor(&m))
			}
			if m.Estimate.HasInterval() {
				s.Line(x(m.Estimate.Low), at, x(m.Estimate.High), at, fmt.Sprintf("whisker k%d", k))
			}
			text := fmt.Sprintf("%s, %s, CPU %d: %s", kernelWord(name), picture.Round(r.slice, "s"), r.cpu, lever.Figure(&m))
			s.Dot(x(m.Estimate.Value), at, k, text)
			says = append(says, text)
		}
	}
	s.Line(x(1), top-6, x(1), bottom, "none")
	note := "time after 100 ms asleep over time awake; 1.00x is no effect"
	if total > len(rows) {
		note = fmt.Sprintf("the worst %d of %d rows; all are in the table", len(rows), total)
	}
	s.Text(s.W/2, s.H-6, "middle", "axis", note)
	return s.Done("Wake-up penalty by slice", "Ratio of the time that a slice of work takes after sleep to the time awake. "+strings.Join(says, "; "))
}

// wakeupRow is one slice length on one CPU, with a ratio for each kernel.
type wakeupRow struct {
	slice float64 // s
	cpu   int
	by    map[result.Kind]result.Measurement
}

func (r wakeupRow) worst() float64 {
	w := math.Inf(-1)
	for _, m := range r.by {
		w = max(w, m.Estimate.Value)
	}
	return w
}

// wakeupTable gathers the known ratios by slice and CPU; kernels come in the
// order alu, mixed. The cold-cache ratio is a quotient of two that are drawn.
func wakeupTable(all []result.Measurement) (rows []wakeupRow, kernels []result.Kind) {
	for _, m := range all {
		if m.Kind != probe.WakeALU && m.Kind != probe.WakeMixed || m.Labels.CPU == nil || !drawable(&m) {
			continue
		}
		slice, cpu := m.Labels.Slice, *m.Labels.CPU
		i := slices.IndexFunc(rows, func(r wakeupRow) bool { return r.slice == slice && r.cpu == cpu })
		if i < 0 {
			i = len(rows)
			rows = append(rows, wakeupRow{slice: slice, cpu: cpu, by: map[result.Kind]result.Measurement{}})
		}
		rows[i].by[m.Kind] = m
		if !slices.Contains(kernels, m.Kind) {
			kernels = append(kernels, m.Kind)
		}
	}
	slices.Sort(kernels)
	return rows, kernels
}

func kernelWord(k result.Kind) string {
	if k == probe.WakeALU {
		return "arithmetic"
	}
	return "with memory"
}
