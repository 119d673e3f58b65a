// Package picture draws what reports show: SVG of a few primitives that follow the
// page's theme, and the page itself, which holds all that it needs.
package picture

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// SVG collects the elements of one picture. Colours come from the page's style
// sheet by class, so that a picture follows the theme; every text is escaped here.
type SVG struct {
	ID   string // prefix of the ids in it, unique in a page
	W    float64
	H    float64
	Wide bool // needs more than a phone's width; scrolls within its figure
	b    strings.Builder
}

// Num prints a coordinate with a tenth of a unit, which is finer than a pixel.
func Num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// Rect draws a rectangle, with a title where one is given.
func (s *SVG) Rect(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"`, Num(x), Num(y), Num(max(w, 0)),
		Num(max(h, 0)),
		class)
	if title == "" {
		s.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&s.b, "><title>%s</title></rect>", html.EscapeString(title))
}

// Line draws a straight line.
func (s *SVG) Line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<path d="M%s %sL%s %s" class="%s"/>`, Num(x1), Num(y1), Num(x2), Num(y2), class)
}

// Path draws points joined by straight lines; close fills to the first.
func (s *SVG) Path(points [][2]float64, class string, closed bool) {
	if len(points) == 0 {
		return
	}
	s.b.WriteString(`<path d="`)
	for i, p := range points {
		c := "L"
		if i == 0 {
			c = "M"
		}
		s.b.WriteString(c + Num(p[0]) + " " + Num(p[1]))
	}
	if closed {
		s.b.WriteString("Z")
	}
	fmt.Fprintf(&s.b, `" class="%s"/>`, class)
}

// Text writes a label; anchor is start, middle or end.
func (s *SVG) Text(x, y float64, anchor, class, t string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, Num(x), Num(y), anchor, class,
		html.EscapeString(t))
}

// Label writes text that starts at x in up to n lines of a width, 16 apart, with the
// whole of it as a title where it is cut, and returns how many lines it took.
func (s *SVG) Label(x, y, width float64, n int, class, t string) int {
	lines, cut := Lines(t, width, n)
	for i, l := range lines {
		title := ""
		if cut {
			title = "<title>" + html.EscapeString(t) + "</title>"
		}
		fmt.Fprintf(&s.b, `<text x="%s" y="%s" class="%s">%s%s</text>`, Num(x), Num(y+16*float64(i)), class, title,
			html.EscapeString(l))
	}
	return len(lines)
}

// Dot draws a marker: a circle for series 0, a square for others, so that they
// differ without colour.
func (s *SVG) Dot(x, y float64, series int, title string) {
	if series == 0 {
		fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="4" class="s0"><title>%s</title></circle>`, Num(x), Num(y),
			html.EscapeString(title))
		return
	}
	s.Rect(x-3.5, y-3.5, 7, 7, fmt.Sprintf("s%d", series), title)
}

// Done closes the picture with its name and a description for those who do not
// see it.
func (s *SVG) Done(title, desc string) HTML {
	class := "pic"
	if s.Wide {
		class = "pic wide"
	}
	return HTML(fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>%s</svg>`,
		class, Num(s.W), Num(s.H), s.ID, s.ID, s.ID, html.EscapeString(title), s.ID, html.EscapeString(desc), s.b.String()))
}

// Raw adds an element that is written already; text in it has to be escaped.
func (s *SVG) Raw(element string) { s.b.WriteString(element) }

// seriesMarks are the shapes of series: dot, square, cross, plus, ring, triangle.
var seriesMarks = []string{"h0", "h0", "m-3-3l6 6m0-6l-6 6", "m-3.5 0h7m-3.5-3.5v7",
	"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "m0-4l4 7h-8z"}

// Marks draws many markers as one path, which keeps a page of thousands small.
func (s *SVG) Marks(series int, points [][2]float64) {
	if len(points) == 0 {
		return
	}
	series = min(series, len(seriesMarks)-1)
	var b strings.Builder
	for _, p := range points {
		b.WriteString("M" + Num(p[0]) + " " + Num(p[1]) + seriesMarks[series])
	}
	s.Raw(fmt.Sprintf(`<path d="%s" class="pts p%d k%d"/>`, b.String(), series, series))
}

// Legend draws the names of series in rows from y and returns where it ended.
func (s *SVG) Legend(names []string, y float64) float64 {
	x := 4.0
	for i, n := range names {
		n = Short(n, 44)
		w := 34 + TextWidth(n)
		if x > 4 && x+w > s.W {
			x, y = 4, y+20
		}
		s.Marks(i, [][2]float64{{x + 6, y - 4}})
		s.Text(x+16, y, "start", "name", n)
		x += w
	}
	return y + 8
}

// Short cuts a label to n characters.
func Short(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}

// HTML is markup that the program has made and escaped.
type HTML = template.HTML

// Figure is a picture with its heading and what it shows in a sentence or two.
type Figure struct {
	Title, Note string
	SVG         HTML
	Wide        bool
	Table       *Table // the same in figures; nil where the page has it elsewhere
}

// Table is a plain table. The first column names its rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// Round prints a round number without the zeros that Format adds for precision:
// "10 ms", not "10.0 ms".
func Round(v float64, unit string) string {
	number, step, ok := strings.Cut(result.Format(v, unit), " ")
	if !ok {
		return number
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + step
}

// AnchorAt keeps a centred label inside the picture.
func AnchorAt(x, w float64, text string) string {
	half := TextWidth(text) / 2
	switch {
	case x < half:
		return "start"
	case x > w-half:
		return "end"
	default:
		return "middle"
	}
}

// TextWidth guesses a small label's width, as the font is the reader's: on the
// large side, by the widths that DejaVu Sans has at 13 pixels.
func TextWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljI.,:;'|!", r):
			w += 4.4
		case strings.ContainsRune(" ()[]-/frt", r):
			w += 5.4
		case strings.ContainsRune("mwMW@%+=<>~#", r):
			w += 11.8
		case r >= 'A' && r <= 'Z':
			w += 9.4
		case r > 0x2e7f: // scripts of full width
			w += 13.5
		default:
			w += 8
		}
	}
	return w
}

// Lines wraps a label into at most n lines of a width; what does not fit ends in an
// ellipsis, and cut is true.
func Lines(text string, width float64, n int) (lines []string, cut bool) {
	rest := strings.Fields(text)
	for len(rest) > 0 && len(lines) < n {
		line := rest[0]
		rest = rest[1:]
		for len(rest) > 0 && TextWidth(line+" "+rest[0]) <= width {
			line, rest = line+" "+rest[0], rest[1:]
		}
		if len(lines) == n-1 && len(rest) > 0 {
			line, rest = line+" "+strings.Join(rest, " "), nil
		}
		if TextWidth(line) > width {
			r := []rune(line)
			for len(r) > 1 && TextWidth(string(r)+"…") > width {
				r = r[:len(r)-1]
			}
			line, cut = strings.TrimRight(string(r), " ")+"…", true
		}
		lines = append(lines, line)
	}
	return lines, cut
}
