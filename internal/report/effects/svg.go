package effects

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/report/picture"
	"hostlab/internal/result"
)

// scale maps values to a picture's coordinates, linearly.
type scale struct {
	lo, hi, from, to float64
	log              bool // of logarithms; lo and hi are logarithms then
}

// newScale spans values with some air; extra values are kept in sight.
func newScale(lo, hi, from, to float64) scale {
	if !(hi > lo) {
		d := math.Max(math.Abs(lo)*0.05, 1e-12)
		lo, hi = lo-d, hi+d
	}
	air := (hi - lo) * 0.06
	return scale{lo: lo - air, hi: hi + air, from: from, to: to}
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log(v)
	}
	v = min(max(v, s.lo), s.hi)
	return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// known reports whether values have a place on an axis.
func known(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.Abs(v) > 1e15 {
			return false
		}
	}
	return true
}

// seriesMarks are the shapes of series: dot, square, cross, plus, ring.
var seriesMarks = []string{"h0", "h0", "m-3-3l6 6m0-6l-6 6", "m-3.5 0h7m-3.5-3.5v7", "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"}

// marks draws many markers as one path, which keeps a page of thousands small.
func marks(s *picture.SVG, series int, points [][2]float64) {
	if len(points) == 0 {
		return
	}
	series = min(series, len(seriesMarks)-1)
	var b strings.Builder
	for _, p := range points {
		b.WriteString("M" + coordinate(p[0]) + " " + coordinate(p[1]) + seriesMarks[series])
	}
	s.Raw(fmt.Sprintf(`<path d="%s" class="pts p%d k%d"/>`, b.String(), series, series))
}

func coordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// legend draws the names of series in rows from y and returns where it ended.
func legend(s *picture.SVG, names []string, y float64) float64 {
	x := 4.0
	for i, n := range names {
		n = short(n, 44)
		w := 34 + picture.TextWidth(n)
		if x > 4 && x+w > s.W {
			x, y = 4, y+20
		}
		marks(s, i, [][2]float64{{x + 6, y - 4}})
		s.Text(x+16, y, "start", "name", n)
		x += w
	}
	return y + 8
}

// short cuts a label to n characters.
func short(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}

// axisX draws grid and ticks of a horizontal axis between top and bottom; labels
// that would touch their neighbour are left out.
func axisX(s *picture.SVG, x scale, top, bottom float64, text func(float64) string) {
	free := -1e9
	for _, v := range picture.Ticks(x.lo, x.hi) {
		at := x.at(v)
		s.Line(at, top, at, bottom, "grid")
		label := text(v)
		half := picture.TextWidth(label)/2 + 4
		left := at - half
		switch picture.AnchorAt(at, s.W) {
		case "start":
			left = at
		case "end":
			left = at - 2*half
		}
		if left < free {
			continue
		}
		free = left + 2*half
		s.Text(at, bottom+18, picture.AnchorAt(at, s.W), "tick", label)
	}
}

// axisY draws grid and ticks of a vertical axis.
func axisY(s *picture.SVG, y scale, left, right float64, text func(float64) string) {
	axisYAt(s, y, picture.Ticks(y.lo, y.hi), left, right, text)
}

func axisYAt(s *picture.SVG, y scale, ticks []float64, left, right float64, text func(float64) string) {
	for _, v := range ticks {
		s.Line(left, y.at(v), right, y.at(v), "grid")
		s.Text(left-6, y.at(v)+4, "end", "tick", text(v))
	}
}

// tick prints values of a response on an axis from lo to hi: all in one step of the
// unit, with as many digits as tell neighbours apart.
func tick(r *result.Response, lo, hi float64) func(float64) string {
	big := max(math.Abs(lo), math.Abs(hi))
	n, unit, _ := strings.Cut(result.Format(big, r.Unit), " ")
	shown, err := strconv.ParseFloat(n, 64)
	if err != nil || big == 0 || shown == 0 {
		return func(v float64) string { return picture.Round(v, r.Unit) }
	}
	base := 10.0
	if strings.HasPrefix(r.Unit, "B") {
		base = 1024
	}
	by := math.Pow(base, math.Round(math.Log(shown/big)/math.Log(base)))
	step := (hi - lo) * by / 6
	digits := min(6, max(0, 1-int(math.Floor(math.Log10(step)))))
	return func(v float64) string {
		t := strconv.FormatFloat(v*by, 'f', digits, 64)
		if strings.Contains(t, ".") {
			t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
		}
		return strings.TrimSpace(t + " " + unit)
	}
}

// percentTick prints a fraction at an axis: "+10 %".
func percentTick(v float64) string {
	p := math.Round(v*1e6) / 1e4
	if p == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+g %%", p)
}

// quantile of sorted values, by linear interpolation.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	h := q * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return quantile(v, 0.5)
}
