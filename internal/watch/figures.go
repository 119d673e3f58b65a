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
	fewRows    = 24 // a phone shows so many
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
		all.Note += " The dotted line is where load began."
	}
	out = append(out, document.Figure{Figure: all})
	if len(a.course.names) > 1 {
		each := picture.Figure{Title: "Each CPU over time", SVG: a.drawEach(), Wide: len(a.course.names) > fewRows,
			Note: "A row for each CPU; the stronger its colour, the busier. A row that stays empty did no work, or was offline."}
		if n := len(a.course.names); n > mostRows {
			each.Note += fmt.Sprintf(" The first %d of %d CPUs are drawn.", mostRows, n)
		}
		out = append(out, document.Figure{Figure: each})
	}
	return out
}

func (a *Answer) span() *picture.Axis {
	return &picture.Axis{Name: "time since " + stamp(a.From), Unit: picture.Span,
		Hi: a.course.seconds[len(a.course.seconds)-1]}
}

func (a *Answer) drawBusy() picture.HTML {
	s := picture.NewPlot("busy", picture.Width, 170, nil, a.span(),
		&picture.Axis{Name: fmt.Sprintf("busy share of all %d CPUs", len(a.course.names)), Unit: picture.Share, Hi: 1})
	sum, n, from := 0.0, 0, 0.0
	var line [][2]float64
	for i, v := range a.course.busy {
		to := a.course.seconds[i]
		if known(v) {
			sum, n = sum+v, n+1
			line = append(line, [2]float64{s.X.At(from), s.Y.At(v)}, [2]float64{s.X.At(to), s.Y.At(v)})
		} else {
			s.Path(line, "curve", false)
			line = nil
		}
		from = to
	}
	s.Path(line, "curve", false)
	if a.Onset != nil {
		at := s.X.At(a.Onset.Sub(a.From).Seconds())
		s.Line(at, s.Top, at, s.Bottom, "mark")
	}
	return s.Done("CPUs busy over time", fmt.Sprintf("%s of all CPUs on average", Percent(sum/float64(max(1, n)))))
}

func (a *Answer) drawEach() picture.HTML {
	rows := a.course.each[:min(mostRows, len(a.course.each))]
	high, width := 14.0, picture.Width
	if len(rows) > fewRows {
		high, width = 18, picture.Wide
	}
	var names []float64
	for i := range rows {
		if len(rows) <= fewRows || i%4 == 0 {
			names = append(names, -float64(i)-0.5)
		}
	}
	s := picture.NewPlot("each", width, high*float64(len(rows)), nil, a.span(),
		&picture.Axis{Name: "CPU", Lo: -float64(len(rows)), Ticks: names,
			Text: func(v float64) string { return fmt.Sprint(a.course.names[int(-v)]) }})
	for i, row := range rows {
		for k := 0; k < len(row); { // stretches of about the same share are one rectangle
			shade, from := tenths(row[k]), k
			for k < len(row) && tenths(row[k]) == shade {
				k++
			}
			if shade > 0 {
				x := s.X.At(0)
				if from > 0 {
					x = s.X.At(a.course.seconds[from-1])
				}
				s.Raw(fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" class="s0" fill-opacity="%.1f"/>`,
					picture.Num(x), picture.Num(s.Y.At(-float64(i))+1), picture.Num(s.X.At(a.course.seconds[k-1])-x),
					picture.Num(high-2), float64(min(shade, 10))/10))
			}
		}
	}
	return s.Done("Each CPU over time", fmt.Sprintf("%d CPUs", len(a.course.names)))
}

// tenths rounds a share; what is not known is below all.
func tenths(v float64) int {
	if !known(v) {
		return -1
	}
	return int(math.Round(10 * v))
}
