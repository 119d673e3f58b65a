package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Among equals, p values are as rare as they say, for small groups and large ones.
func TestPeersLaw(t *testing.T) {
	for _, k := range []int{8, 12, 15, 40, 60, 150} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		values := make([]float64, k)
		below, n := map[float64]int{}, 0
		for n < 60_000 {
			for i := range values {
				values[i] = 3 + rng.NormFloat64()
			}
			for _, p := range Peers(values) {
				n++
				for _, level := range []float64{0.1, 0.01, 0.001} {
					if p <= level {
						below[level]++
					}
				}
			}
		}
		for level, count := range below {
			got := float64(count) / float64(n)
			low, high := 0.8*level, 1.2*level
			if level < 0.01 || k > 40 {
				low, high = 0.4*level, 1.5*level
			}
			if got < low || got > high {
				t.Errorf("%d values: p <= %v in %.5f of the cases", k, level, got)
			}
		}
	}
}

func TestPeersOfFew(t *testing.T) {
	if p := Peers([]float64{1, 1, 1, 1, 1, 1, 9}); slices.Min(p) != 1 {
		t.Errorf("%v of seven", p)
	}
	p := Peers([]float64{1, 1, 1, 1, 1, 1, 1, 9})
	if p[7] != 0 || p[0] != 1 {
		t.Errorf("one of eight differs from equal ones: %v", p)
	}
}

// Two outliers of twelve do not hide each other.
func TestPeersDoNotMask(t *testing.T) {
	values := []float64{0, 1, -1, 0.5, -0.5, 0.2, -0.2, 0.8, -0.8, 0.1, 15, 15.5}
	for i, p := range Peers(values) {
		if (p < 0.001) != (i >= 10) {
			t.Errorf("value %v: p %v", values[i], p)
		}
	}
}

func TestDiscoveries(t *testing.T) {
	// The example of Benjamini and Hochberg (1995), table 1: four are found at 0.05.
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	found := Discoveries(p, 0.05)
	for i, is := range found {
		if is != (i < 4) {
			t.Errorf("p %v: %v", p[i], is)
		}
	}
	if len(Discoveries(nil, 0.05)) != 0 || math.IsNaN(p[0]) {
		t.Error("none of none")
	}
}
