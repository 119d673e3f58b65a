package stats

import (
	"math/rand/v2"
	"testing"
)

func TestRelated(t *testing.T) {
	rng, seen, chance := rand.New(rand.NewPCG(1, 1)), 0, 0
	const times = 300
	for i := range uint64(times) {
		d, one, two, flat := make([]float64, 20), make([]float64, 20), make([]float64, 20), make([]float64, 20)
		for j := range d {
			one[j], two[j] = rng.NormFloat64(), float64(rng.IntN(2))
			d[j] = rng.NormFloat64()
		}
		if _, _, p := Related(d, [][]float64{flat, one, two}, i); p < 0.05 {
			chance++
		}
		for j := range d {
			d[j] += 2 * two[j]
		}
		if which, rho, p := Related(d, [][]float64{flat, one, two}, i); which == 2 && rho > 0 && p < 0.05 {
			seen++
		}
	}
	if chance > 25 || seen < 280 {
		t.Errorf("of %d: %d by chance, %d seen", times, chance, seen)
	}
	if _, _, p := Related([]float64{1, 2, 3}, [][]float64{{1, 2, 3}}, 1); p != 1 {
		t.Errorf("three values: p = %v", p)
	}
}
