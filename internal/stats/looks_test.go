package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Pocock's constants for looks at equal distances, alpha 0.05: Jennison and
// Turnbull, Group Sequential Methods (2000), table 2.1.
func TestLeavesAgreesWithPocock(t *testing.T) {
	for looks, c := range map[int]float64{2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555} {
		var times []int
		var z []float64
		for k := range looks {
			times, z = append(times, 10*(k+1)), append(z, c)
		}
		if got := leaves(times, z); math.Abs(got-0.05) > 1e-4 {
			t.Errorf("%d looks at %g: leaves with %.5f, want 0.05", looks, c, got)
		}
	}
}

func TestLookAlphas(t *testing.T) {
	looks := []int{10, 14, 20, 30}
	got := LookAlphas(0.05, looks)
	for i, n := range looks {
		if want := got[3] * float64(n) / 30; math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("look %d: %g, want %g in proportion to its blocks", i+1, got[i], want)
		}
	}
	if got[0] < 0.0099 || got[0] > 0.0101 {
		t.Errorf("first look: %g, want 0.0100", got[0])
	}
	if one := LookAlphas(0.05, []int{12}); math.Abs(one[0]-0.05) > 1e-9 {
		t.Errorf("one look: %g, want all of 0.05", one[0])
	}
	for _, odd := range [][]int{{10, 10}, {0, 5}, {20, 10}} {
		if b := LookAlphas(0.05, odd); b[0] != 0.025 || b[1] != 0.025 {
			t.Errorf("looks %v: %v, want Bonferroni's", odd, b)
		}
	}
	if b := LookAlphas(0.05, nil); b != nil {
		t.Errorf("no looks: %v", b)
	}
}

// The intervals of all looks must hold the centre together, with the exact
// signed-rank intervals that are in use. 4,000 experiments: 95 % less three
// standard errors is 94.0.
func TestLookAlphasCoverTogether(t *testing.T) {
	looks := []int{10, 14, 20, 30}
	alphas := LookAlphas(0.05, looks)
	rng := rand.New(rand.NewPCG(1, 2))
	const times = 4000
	hit := 0
	for range times {
		d := make([]float64, 30)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		all := true
		for k, n := range looks {
			iv := HodgesLehmann(d[:n], alphas[k])
			all = all && iv.Low <= 0 && iv.High >= 0
		}
		if all {
			hit++
		}
	}
	if share := float64(hit) / times; share < 0.94 || share > 0.98 {
		t.Errorf("all intervals cover in %.2f %%, want 95 or a little more", 100*share)
	}
}
