package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// Scale maps values to a picture's coordinates, linearly.
type Scale struct {
	Lo, Hi, From, To float64
	Log              bool // of logarithms; Lo and Hi are logarithms then
}

// NewScale spans values with some air; extra values are kept in sight.
func NewScale(lo, hi, from, to float64) Scale {
	if !(hi > lo) {
		d := math.Max(math.Abs(lo)*0.05, 1e-12)
		lo, hi = lo-d, hi+d
	}
	air := (hi - lo) * 0.06
	return Scale{Lo: lo - air, Hi: hi + air, From: from, To: to}
}

// At returns where a value stands; what is beyond the axis stands at its end.
func (s Scale) At(v float64) float64 {
	if s.Log {
		v = math.Log(v)
	}
	v = min(max(v, s.Lo), s.Hi)
	return s.From + (v-s.Lo)/(s.Hi-s.Lo)*(s.To-s.From)
}

// AxisX draws grid and ticks of a horizontal axis between top and bottom; where
// labels would touch, only every second, third, ... tick has one.
func (s *SVG) AxisX(x Scale, top, bottom float64, text func(float64) string) {
	s.AxisXAt(Ticks(x.Lo, x.Hi), x.At, top, bottom, text)
}

// AxisXAt is AxisX with ticks and places of the caller's own.
func (s *SVG) AxisXAt(ticks []float64, place func(float64) float64, top, bottom float64, text func(float64) string) {
	every := 1
	for every < len(ticks) && crowded(ticks, every, place, s.W, text) {
		every++
	}
	origin := max(0, slices.Index(ticks, 0)) // 0 is never left without its label
	for i, v := range ticks {
		at := place(v)
		s.Line(at, top, at, bottom, "grid")
		if (i-origin)%every == 0 {
			s.Text(at, bottom+18, AnchorAt(at, s.W, text(v)), "tick", text(v))
		}
	}
}

// crowded reports whether labels at every so many ticks touch each other.
func crowded(ticks []float64, every int, place func(float64) float64, width float64, text func(float64) string) bool {
	origin, free := max(0, slices.Index(ticks, 0)), -1e9
	for i, v := range ticks {
		if (i-origin)%every != 0 {
			continue
		}
		at, w := place(v), TextWidth(text(v))
		left := at - w/2
		switch AnchorAt(at, width, text(v)) {
		case "start":
			left = at
		case "end":
			left = at - w
		}
		if left < free {
			return true
		}
		free = left + w + 4
	}
	return false
}

// AxisLog draws grid and ticks of a logarithmic axis from left to right at powers of ten,
// and returns where values stand.
func (s *SVG) AxisLog(lo, hi, left, right, top, bottom float64, unit string) func(float64) float64 {
	l0, l1 := math.Log10(lo), math.Log10(hi)
	if l1-l0 < 0.5 {
		l0, l1 = l0-0.25, l1+0.25
	}
	at := func(v float64) float64 { return left + (min(max(math.Log10(v), l0), l1)-l0)/(l1-l0)*(right-left) }
	for e := math.Ceil(l0); e <= l1; e++ {
		v := math.Pow(10, e)
		s.Line(at(v), top, at(v), bottom, "grid")
		s.Text(at(v), bottom+18, AnchorAt(at(v), s.W, Round(v, unit)), "tick", Round(v, unit))
	}
	return at
}

// AxisY draws grid and ticks of a vertical axis.
func (s *SVG) AxisY(y Scale, left, right float64, text func(float64) string) {
	s.AxisYAt(y, Ticks(y.Lo, y.Hi), left, right, text)
}

// AxisYAt is AxisY with ticks of the caller's own.
func (s *SVG) AxisYAt(y Scale, ticks []float64, left, right float64, text func(float64) string) {
	for _, v := range ticks {
		s.Line(left, y.At(v), right, y.At(v), "grid")
		s.Text(left-6, y.At(v)+4, "end", "tick", text(v))
	}
}

// Tick prints values of a unit on an axis from lo to hi: all in one step of the
// unit, with as many digits as tell neighbours apart.
func Tick(unit string, lo, hi float64) func(float64) string {
	big := max(math.Abs(lo), math.Abs(hi))
	n, step, _ := strings.Cut(result.Format(big, unit), " ")
	shown, err := strconv.ParseFloat(n, 64)
	if err != nil || big == 0 || shown == 0 {
		return func(v float64) string { return Round(v, unit) }
	}
	base := 10.0
	if strings.HasPrefix(unit, "B") {
		base = 1024
	}
	by := math.Pow(base, math.Round(math.Log(shown/big)/math.Log(base)))
	digits := min(6, max(0, 1-int(math.Floor(math.Log10((hi-lo)*by/6)))))
	return func(v float64) string {
		t := strconv.FormatFloat(v*by, 'f', digits, 64)
		if strings.Contains(t, ".") {
			t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
		}
		return strings.TrimSpace(t + " " + step)
	}
}

// PercentTick prints a fraction at an axis: "+10 %".
func PercentTick(v float64) string {
	p := math.Round(v*1e6) / 1e4
	if p == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+g %%", p)
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

// Ticks are 3 to 7 round numbers within [lo, hi].
func Ticks(lo, hi float64) []float64 {
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
		out = append(out, i*step+0) // never -0
	}
	return out
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
