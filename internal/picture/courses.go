package picture

import (
	"fmt"
	"math"
	"strings"
)

// Course is a series of a picture of lines: what was seen at moments, or at other values of x.
type Course struct {
	Name      string
	X, Y      []float64
	Low, High []float64 // intervals; nil: there are none
	Step      bool      // what was seen holds until the next
}

// Courses draws courses over two axes. A line joins what was seen, each marked by its series' shape.
func Courses(id, title, says string, x, y *Axis, marks []float64, all []Course) HTML {
	var names []string
	for _, c := range all {
		names = append(names, Short(c.Name, 40))
	}
	if len(all) == 1 { // the axis says it
		names = nil
	}
	s := NewPlot(id, Width, 190, names, x, y)
	for _, v := range marks {
		s.Line(s.Left, s.Y.At(v), s.Right, s.Y.At(v), "ideal")
	}
	for i, c := range all {
		series := i % len(seriesMarks)
		var line, seen [][2]float64
		for k, v := range c.Y {
			if math.IsNaN(v) {
				continue
			}
			at := [2]float64{s.X.At(c.X[k]), s.Y.At(v)}
			if c.Low != nil {
				s.Interval(at[0], c.Low[k], c.High[k], fmt.Sprintf("whisker k%d", series))
			}
			if c.Step && len(line) > 0 {
				line = append(line, [2]float64{at[0], line[len(line)-1][1]})
			}
			line, seen = append(line, at), append(seen, at)
		}
		s.Path(line, fmt.Sprintf("trace k%d", series), false)
		if c.Step {
			seen = seen[:min(1, len(seen))] // its corners show the others
		}
		s.Marks(series, seen)
	}
	return s.Done(title, strings.TrimSpace(says))
}
