package stats

import (
	"math/rand/v2"
	"testing"

	"hostlab/internal/testkit"
)

func TestRelated(t *testing.T) {
	rng, seen, chance := rand.New(rand.NewPCG(1, 1)), 0, 0
	const times = 300
	for i := range uint64(times) {
		d, x := make([]float64, 20), make([]float64, 20)
		for j := range d {
			d[j], x[j] = rng.NormFloat64(), float64(rng.IntN(2))
		}
		if Related(d, x, i) < 0.05 {
			chance++
		}
		for j := range d {
			d[j] += 2 * x[j]
		}
		if Related(d, x, i) < 0.05 {
			seen++
		}
	}
	if chance > 25 || seen < 280 {
		t.Errorf("of %d: %d by chance, %d seen", times, chance, seen)
	}
	testkit.Is(t, 1, Related([]float64{1, 2, 3}, []float64{1, 2, 3}, 1), "three values: p =")
	testkit.Is(t, 1, Related(make([]float64, 9), make([]float64, 9), 1), "all the same: p =")
}
