package picture

import (
	"fmt"
	"strings"
)

// seriesMarks are the shapes of series: dot, square, cross, plus, ring.
var seriesMarks = []string{"h0", "h0", "m-3-3l6 6m0-6l-6 6", "m-3.5 0h7m-3.5-3.5v7", "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"}

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
