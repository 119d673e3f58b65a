package picture

import (
	"math"
	"strings"

	"hostlab/internal/result"
)

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
func AnchorAt(x, w float64) string {
	switch {
	case x < 24:
		return "start"
	case x > w-24:
		return "end"
	default:
		return "middle"
	}
}

// TextWidth guesses a small label's width, as the font is the reader's.
func TextWidth(s string) float64 { return 6.6 * float64(len(s)) }
