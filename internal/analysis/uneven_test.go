package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/result"
)

// A level whose runs are skewed has a mean of its own beside the typical run, and a tail.
func TestUnequalScatter(t *testing.T) {
	for name, tail := range map[string]float64{"alike": 0, "skewed": 0.2} {
		rng := rand.New(rand.NewPCG(4, 9))
		e := newLab().fill(30, func(_ int, c result.Cell) []float64 {
			z := 0.01 * rng.NormFloat64()
			if c.Levels["mode"] == "on" {
				z += tail * math.Pow(rng.Float64(), 4)
			}
			return []float64{3 * math.Exp(z)}
		}).ended("looks").Effects[0]
		base, level := e.Base.P95, e.Level.P95
		if e.Uneven() != (tail > 0) {
			t.Errorf("%s: %+v", name, e)
		} else if e.Uneven() && (e.Mean.Value < 0.03 || e.Mean.Value > 0.06 || level.Value < 3.2 || base.Value > 3.1 ||
			!(level.Low > base.Value && level.Low <= level.Value) || !math.IsNaN(level.High)) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
