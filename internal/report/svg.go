package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// svg collects the elements of one picture. Colours come from the page's style
// sheet by class, so that a picture follows the theme; every text is escaped here.
type svg struct {
	id   string // prefix of the ids in it
	w    float64
	h    float64
	wide bool // needs more than a phone's width; scrolls within its figure
	b    strings.Builder
}

// num prints a coordinate with a tenth of a unit, which is finer than a pixel.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (s *svg) rect(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"`, num(x), num(y), num(max(w, 0)), num(max(h, 0)), class)
	if title == "" {
		s.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&s.b, "><title>%s</title></rect>", html.EscapeString(title))
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<path d="M%s %sL%s %s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

// path draws points joined by straight lines; close fills to the first.
func (s *svg) path(points [][2]float64, class string, closed bool) {
	if len(points) == 0 {
		return
	}
	s.b.WriteString(`<path d="`)
	for i, p := range points {
		c := "L"
		if i == 0 {
			c = "M"
		}
		s.b.WriteString(c + num(p[0]) + " " + num(p[1]))
	}
	if closed {
		s.b.WriteString("Z")
	}
	fmt.Fprintf(&s.b, `" class="%s"/>`, class)
}

// text writes a label; anchor is start, middle or end.
func (s *svg) text(x, y float64, anchor, class, t string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, html.EscapeString(t))
}

// dot draws a marker: a circle for series 0, a square for others, so that they
// differ without colour.
func (s *svg) dot(x, y float64, series int, title string) {
	if series == 0 {
		fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="4.5" class="s0"><title>%s</title></circle>`, num(x), num(y), html.EscapeString(title))
		return
	}
	s.rect(x-4, y-4, 8, 8, fmt.Sprintf("s%d", series), title)
}

// done closes the picture with its name and a description for those who do not
// see it.
func (s *svg) done(title, desc string) template.HTML {
	class := "pic"
	if s.wide {
		class = "pic wide"
	}
	return template.HTML(fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>%s</svg>`,
		class, num(s.w), num(s.h), s.id, s.id, s.id, html.EscapeString(title), s.id, html.EscapeString(desc), s.b.String()))
}

// round prints a round number without the zeros that Format adds for precision:
// "10 ms", not "10.0 ms".
func round(v float64, unit string) string {
	number, step, ok := strings.Cut(result.Format(v, unit), " ")
	if !ok {
		return number
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + step
}

// drawable reports whether a measurement has a place on an axis.
func drawable(m *result.Measurement) bool {
	if !m.Known() || math.IsNaN(m.Estimate.Value) {
		return false
	}
	for _, v := range []float64{m.Estimate.Value, m.Estimate.Low, m.Estimate.High} {
		if v <= 0 || v > 1e12 {
			return false // every axis here is one of times or ratios
		}
	}
	return true
}

// ticks are 3 to 7 round numbers within [lo, hi].
func ticks(lo, hi float64) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, f := range []float64{0.1, 0.2, 0.25, 0.5, 1, 2} {
		if n := (hi - lo) / (step * f); n <= 6 {
			step *= f
			break
		}
	}
	var out []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		out = append(out, i*step)
	}
	return out
}
