package report

import (
	"math"

	"hostlab/internal/report/picture"
	"hostlab/internal/result"
)

// svg is one picture of an assessment, with the parts that only they have.
type svg struct{ picture.SVG }

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
