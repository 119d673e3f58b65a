package watch

import (
	"fmt"
	"math"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/picture"
)

// The most points of a line, and rows of a picture of CPUs.
const (
	mostPoints = 240
	mostRows   = 64
)

// course is how busy the CPUs were over time, for pictures.
type course struct {
	seconds, busy []float64   // since the beginning; share of all CPUs, unknown in a gap
	names         []int       // of the CPUs
	each          [][]float64 // share of each CPU in the same stretches
}

// newCourse averages a record over stretches of equal length.
func newCourse(r *Record) *course {
	start, last := r.start(), r.Points[len(r.Points)-1].At
	n := min(mostPoints, max(1, len(r.Points)/2)) // two samples each, so that none is empty where they come unevenly
	step := last.Sub(start) / time.Duration(n)
	if step <= 0 {
		return nil
	}
	c := &course{names: r.CPUs}
	all, each := make([]mean, n), make([][]mean, len(r.CPUs))
	for i := range each {
		each[i] = make([]mean, n)
	}
	for _, p := range r.Points {
		k := min(n-1, max(0, int((p.At.Sub(start)-1)/step)))
		all[k].add(p.mean(), p.Seconds)
		for cpu, v := range p.Busy {
			each[cpu][k].add(float64(v), p.Seconds)
		}
	}
	for k := range all {
		c.seconds, c.busy = append(c.seconds, (time.Duration(k+1)*step).Seconds()), append(c.busy, all[k].value())
	}
	for _, list := range each {
		var row []float64
		for _, m := range list {
			row = append(row, m.value())
		}
		c.each = append(c.each, row)
	}
	return c
}

// figures draw the record: how busy all CPUs were, and each of them.
func (a *Answer) figures() (out []document.Block) {
	if a.course == nil {
		return nil
	}
	all := picture.Figure{Title: "CPUs busy over time", SVG: a.drawBusy(),
		Note: "The share of all CPUs that worked. A gap is time without samples."}
	if a.Onset != nil {
		all.Note += " The line across is where load began."
	}
	out = append(out, document.Figure{Figure: all})
	if len(a.course.names) > 1 {
		each := picture.Figure{Title: "Each CPU over time", SVG: a.drawEach(), Wide: true,
			Note: "A row for each CPU; the darker, the busier. A row that stays empty did no work, or was offline."}
		if n := len(a.course.names); n > mostRows {
			each.Note += fmt.Sprintf(" The first %d of %d CPUs are drawn.", mostRows, n)
		}
		out = append(out, document.Figure{Figure: each})
	}
	return out
}

// span is the time axis, and how its ticks are written.
func (a *Answer) span(left, right float64) (picture.Scale, func(float64) string) {
	end := a.course.seconds[len(a.course.seconds)-1]
	unit, per := "s", 1.0
	switch {
	case end > 3*3600:
		unit, per = "h", 3600
	case end > 180:
		unit, per = "min", 60
	}
	return picture.Scale{Hi: end / per, From: left, To: right}, func(v float64) string { return fmt.Sprintf("%g %s", v, unit) }
}

func (a *Answer) drawBusy() picture.HTML {
	const left, right, top, bottom = 48.0, 468.0, 10.0, 190.0
	s := &picture.SVG{ID: "busy", W: 480, H: bottom + 44}
	x, tick := a.span(left, right)
	y := picture.Scale{Hi: 1, From: bottom, To: top}
	s.AxisY(y, left, right, Percent)
	s.AxisX(x, top, bottom, tick)
	end, sum, n := a.course.seconds[len(a.course.seconds)-1], 0.0, 0
	var line [][2]float64
	for i, v := range a.course.busy {
		from := 0.0
		if i > 0 {
			from = a.course.seconds[i-1]
		}
		if !known(v) {
			s.Path(line, "curve", false)
			line = nil
			continue
		}
		sum, n = sum+v, n+1
		line = append(line, [2]float64{left + (right-left)*from/end, y.At(v)},
			[2]float64{left + (right-left)*a.course.seconds[i]/end, y.At(v)})
	}
	s.Path(line, "curve", false)
	if a.Onset != nil {
		at := left + (right-left)*a.Onset.Sub(a.From).Seconds()/end
		s.Line(at, top, at, bottom, "mark")
	}
	s.Line(left, bottom, right, bottom, "base")
	s.Text((left+right)/2, s.H-4, "middle", "axis", "time since "+stamp(a.From))
	return s.Done("CPUs busy over time", fmt.Sprintf("%s of all CPUs on average", Percent(sum/float64(max(1, n)))))
}

func (a *Answer) drawEach() picture.HTML {
	rows := a.course.each[:min(mostRows, len(a.course.each))]
	const left, right, top, high = 60.0, 948.0, 8.0, 13.0
	bottom := top + high*float64(len(rows))
	s := &picture.SVG{ID: "each", W: 960, H: bottom + 44, Wide: true}
	x, tick := a.span(left, right)
	s.AxisX(x, top, bottom, tick)
	wide := (right - left) / float64(len(a.course.seconds))
	for i, row := range rows {
		y := top + high*float64(i)
		if len(rows) <= 24 || i%4 == 0 {
			s.Text(left-6, y+high-2, "end", "tick", fmt.Sprint("CPU ", a.course.names[i]))
		}
		for k := 0; k < len(row); { // stretches of about the same share are one rectangle
			shade, from := tenths(row[k]), k
			for k < len(row) && tenths(row[k]) == shade {
				k++
			}
			if shade > 0 {
				s.Raw(fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" class="s0" fill-opacity="%.1f"/>`,
					picture.Num(left+wide*float64(from)), picture.Num(y), picture.Num(wide*float64(k-from)), picture.Num(high-2),
					float64(min(shade, 10))/10))
			}
		}
	}
	s.Line(left, bottom, right, bottom, "base")
	s.Text((left+right)/2, s.H-4, "middle", "axis", "time since "+stamp(a.From))
	return s.Done("Each CPU over time", fmt.Sprintf("%d CPUs", len(a.course.names)))
}

// tenths rounds a share; what is not known is below all.
func tenths(v float64) int {
	if !known(v) {
		return -1
	}
	return int(math.Round(10 * v))
}
