package analysis

import (
	"math"

	"hostlab/internal/result"
)

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
		return result.Percent(v, 2)
	}
	return result.Format(v, s.response.Unit)
}
