package picture

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Bar is an estimate with its interval, over a band around 0 in which it means nothing.
type Bar struct {
	Name, Below      string // its label, and the line under that
	Said             string // all of it in words
	Value, Low, High float64
	Band             float64
	BandSaid         string
	Floor            float64 // at both sides of 0, in brackets; NaN: none
	Series           int
}

// Bars draws bars below each other on one axis from lo to hi. What axis says stands below it.
func Bars(id, title string, bars []Bar, lo, hi float64, text func(float64) string, axis string) template.HTML {
	left, pitch := labelColumn(bars)
	const top = 8.0
	bottom := top + pitch*float64(len(bars))
	s := &SVG{ID: id, W: 480, H: bottom + 46}
	sc := NewScale(lo, hi, left+labelGap, 468)
	s.AxisX(sc, top, bottom, text)
	var says []string
	for i, b := range bars {
		y := top + pitch*float64(i)
		mid, class := y+pitch/2, fmt.Sprintf("whisker k%d", b.Series)
		s.Rect(sc.At(-b.Band), mid-9, sc.At(b.Band)-sc.At(-b.Band), 18, "floor", b.BandSaid)
		n := s.Label(4, y+20, left, 2, "name", b.Name)
		s.Label(4, y+20+16*float64(n), left, 1, "tick", b.Below)
		upright := func(v, half float64, class string) { s.Line(sc.At(v), mid-half, sc.At(v), mid+half, class) }
		for _, v := range []float64{-b.Floor, b.Floor} {
			if v >= sc.Lo && v <= sc.Hi {
				upright(v, 6, "ideal")
			}
		}
		upright(0, 12, "none")
		if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
			s.Line(sc.At(b.Low), mid, sc.At(b.High), mid, class)
			upright(b.Low, 4, class)
			upright(b.High, 4, class)
		}
		s.Dot(sc.At(b.Value), mid, b.Series, b.Said)
		says = append(says, b.Said)
	}
	s.Text(240, s.H-6, "middle", "axis", axis)
	return s.Done(title, strings.Join(says, "; "))
}

// The column of labels beside the bars is as wide as they need, up to mostLabel; a
// name takes two lines where it must.
const (
	mostLabel = 200.0
	labelGap  = 16.0
)

func labelColumn(bars []Bar) (width, pitch float64) {
	lines := 1
	for _, b := range bars {
		n, _ := Lines(b.Name, mostLabel, 2)
		lines = max(lines, len(n))
		for _, l := range append(n, b.Below) {
			width = max(width, TextWidth(l))
		}
	}
	return min(width, mostLabel) + 4, float64(16*(lines+1) + 16)
}
