package analysis

import (
	"math"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// plural writes a number with the right one of two nouns.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// signed writes an effect on the scale of Effect.Value with its sign and unit.
func (s scale) signed(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	sign := "+"
	if v < 0 {
		sign = "-"
	}
	return sign + s.size(math.Abs(v))
}

// size writes a margin or the size of an effect.
func (s scale) size(v float64) string {
	if s.ratio() {
		return percent(v)
	}
	return result.Format(v, s.response.Unit)
}

// percent writes a share with three significant digits or two after the point,
// whichever shows more, and without zeros at the end.
func percent(v float64) string {
	p := 100 * v
	digits := 2
	for a := math.Abs(p); a > 0 && a < 0.1 && digits < 12; a *= 10 {
		digits++
	}
	if math.Abs(p) >= 10 {
		digits = 1
	}
	t := strconv.FormatFloat(p, 'f', digits, 64)
	return strings.TrimRight(strings.TrimRight(t, "0"), ".") + " %"
}
