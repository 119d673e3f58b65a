package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/testkit"
)

// Among equals of any of these laws, of which six measurements are compared, few groups have one that is found, and one that is twice
// as large as the others, which differ by 3 %, is.
func TestPeersLaw(t *testing.T) {
	student := func(r *rand.Rand) float64 {
		sum := 0.0
		for range 3 {
			v := r.NormFloat64()
			sum += v * v / 3
		}
		return r.NormFloat64() / math.Sqrt(sum)
	}
	laws := map[string]func(r *rand.Rand) float64{
		"log-normal":             (*rand.Rand).NormFloat64,
		"t3 of logarithms":       student,
		"exponential":            func(r *rand.Rand) float64 { return math.Log(r.ExpFloat64()) },
		"exponential logarithms": (*rand.Rand).ExpFloat64,
		"skewed":                 func(r *rand.Rand) float64 { return math.Exp(0.5 * r.NormFloat64()) },
		"skewed, downwards":      func(r *rand.Rand) float64 { return -math.Exp(0.5 * r.NormFloat64()) },
		"two exponentials":       func(r *rand.Rand) float64 { return r.ExpFloat64() + r.ExpFloat64() },
	}
	const groups, measurements = 500, 6
	for name, law := range laws {
		for _, k := range []int{8, 11, 12, 16, 20, 40} {
			rng, named := rand.New(rand.NewPCG(uint64(k), 1)), 0
			for range groups {
				var p, gaps []float64
				for range measurements {
					values := make([]float64, k)
					for i := range values {
						values[i] = law(rng)
					}
					each, gap := Peers(values)
					p, gaps = append(p, each...), append(gaps, gap)
				}
				floats.Scale(Tails(gaps), p)
				if slices.Contains(Discoveries(p, 0.05), true) {
					named++
				}
			}
			if low, _ := Share(named, groups, 0.05); low > 0.05 {
				t.Errorf("%s, %d values: one is found in %d of %d groups", name, k, named, groups)
			}
		}
	}
	for _, k := range []int{8, 12, 20, 40} {
		rng, found := rand.New(rand.NewPCG(uint64(k), 2)), 0
		for range groups {
			var p, gaps []float64
			for m := range measurements {
				values := make([]float64, k)
				for i := range values {
					values[i] = 0.03 * rng.NormFloat64()
				}
				if m == 0 {
					values[0] += math.Log(2)
				}
				each, gap := Peers(values)
				p, gaps = append(p, each...), append(gaps, gap)
			}
			floats.Scale(Tails(gaps), p)
			if Discoveries(p, 0.05)[0] {
				found++
			}
		}
		if t.Logf("%d values: found %d", k, found); found < groups*90/100 {
			t.Errorf("one of %d that is twice as large is found in %d of %d groups", k, found, groups)
		}
	}
}

func first(p []float64, _ float64) []float64 { return p }

func TestPeersOfFew(t *testing.T) {
	testkit.Is(t, 1, slices.Min(first(Peers([]float64{1, 1, 1, 1, 1, 1, 9}))), "of seven")
	p, _ := Peers([]float64{1, 1, 1, 1, 1, 1, 1, 9})
	if p[7] != 0 || p[0] != 1 {
		t.Errorf("one of eight differs from equal ones: %v", p)
	}
}

// Two outliers of twelve do not hide each other, whether they are on one side or on both.
func TestPeersDoNotMask(t *testing.T) {
	for _, two := range [][2]float64{{15, 15.5}, {15, -14}, {-15, -15.5}} {
		values := append([]float64{0, 1, -1, 0.5, -0.5, 0.2, -0.2, 0.8, -0.8, 0.1}, two[:]...)
		for i, p := range first(Peers(values)) {
			testkit.Is(t, (i >= 10), (p < 0.005), "value", values[i], values, "p", p)
		}
	}
}

func TestDiscoveries(t *testing.T) {
	// The example of Benjamini and Hochberg (1995), table 1: four are found at 0.05.
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	found := Discoveries(p, 0.05)
	for i, is := range found {
		testkit.Is(t, (i < 4), is, "p", p[i])
	}
	if len(Discoveries(nil, 0.05)) != 0 || math.IsNaN(p[0]) {
		t.Error("none of none")
	}
}
