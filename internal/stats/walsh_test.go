package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// allWalsh makes every Walsh average: the plain way, which the estimator must match.
func allWalsh(d []float64) []float64 {
	var w []float64
	for i := range d {
		for j := i; j < len(d); j++ {
			w = append(w, d[i]/2+d[j]/2)
		}
	}
	slices.Sort(w)
	return w
}

// Selection without the averages must give the very same numbers, also with ties,
// zeros, both signs and values of very different size.
func TestSelectionIsExact(t *testing.T) {
	value := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-1e300, 1e300), rapid.Float64Range(-1e-300, 1e-300),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}))
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		d := rapid.SliceOfN(value, 1, 60).Draw(t, "d")
		alpha := rapid.Float64Range(0.0005, 0.5).Draw(t, "alpha")
		given := slices.Clone(d)
		got := HodgesLehmann(d, alpha)
		if !slices.Equal(given, d) {
			t.Fatal("the argument was modified")
		}
		w := allWalsh(d)
		want := result.Estimate{Value: SortedQuantile(w, 0.5), Low: math.NaN(), High: math.NaN()}
		if k := signedRankExact(len(d), alpha); k >= 0 {
			want.Low, want.High = w[k], w[len(w)-1-k]
		}
		for _, b := range [][2]float64{{got.Value, want.Value}, {got.Low, want.Low}, {got.High, want.High}} {
			if b[0] != b[1] && !(math.IsNaN(b[0]) && math.IsNaN(b[1])) {
				t.Fatalf("%+v, from all Walsh averages %+v", got, want)
			}
		}
		s := walsh(slices.Sorted(slices.Values(d)))
		k := rapid.IntRange(0, len(w)-1).Draw(t, "k")
		if got := s.at(k); got != w[k] {
			t.Fatalf("average %d: %v, want %v", k, got, w[k])
		}
	})
}

// Beyond maxExact the interval must not be narrower than the exact one, and hardly
// wider; the figures are those of signedRankCritical's comment.
func TestNormalSignedRank(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		share float64 // of w
	}{{0.05, 1.0 / 7000}, {0.05 / 28, 1.0 / 500}, {0.0002, 1.0 / 250}} {
		for _, n := range []int{maxExact + 1, 250, 400} {
			exact, normal := signedRankExact(n, c.alpha), signedRankCritical(n, c.alpha)
			if normal > exact || float64(exact-normal) > c.share*float64(exact)+1 {
				t.Errorf("n=%d alpha=%g: normal %d, exact %d", n, c.alpha, normal, exact)
			}
		}
	}
}

func TestHodgesLehmannOddities(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		d    []float64
		want result.Estimate
	}{
		{"nothing", nil, result.Estimate{Value: nan, Low: nan, High: nan, N: 0}},
		{"one", []float64{3}, result.Estimate{Value: 3, Low: nan, High: nan, N: 1}},
		{"five are too few", []float64{1, 2, 3, 4, 5}, result.Estimate{Value: 3, Low: nan, High: nan, N: 5}},
		{"all the same", []float64{2, 2, 2, 2, 2, 2}, result.Estimate{Value: 2, Low: 2, High: 2, N: 6}},
		{"all zero", make([]float64, 300), result.Estimate{Value: 0, Low: 0, High: 0, N: 300}},
		{"zeros among others", []float64{0, 0, 0, 1, 1, 1}, result.Estimate{Value: 0.5, Low: 0, High: 1, N: 6}},
		{"not a number", []float64{1, nan, 2, 3, 4, 5, 6}, result.Estimate{Value: nan, Low: nan, High: nan, N: 7}},
		{"infinite", []float64{1, inf, 2, 3, 4, 5, 6}, result.Estimate{Value: nan, Low: nan, High: nan, N: 7}},
		{"infinite below", []float64{1, -inf, 2, 3, 4, 5, 6}, result.Estimate{Value: nan, Low: nan, High: nan, N: 7}},
	} {
		got := HodgesLehmann(c.d, 0.05)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(got.Value, c.want.Value) || !same(got.Low, c.want.Low) || !same(got.High, c.want.High) || got.N != c.want.N {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Ties are what coarse clocks make. Rounding to a step must keep the coverage.
func TestHodgesLehmannCoversWithTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const runs = 2000
	hit := 0
	for range runs {
		d := make([]float64, 12)
		for i := range d {
			d[i] = math.Round(rng.NormFloat64()*2) / 2
		}
		if iv := HodgesLehmann(d, 0.05); iv.Low <= 0 && 0 <= iv.High {
			hit++
		}
	}
	if share := float64(hit) / runs; share < 0.94 {
		t.Errorf("covered %.3f of %d experiments", share, runs)
	}
}

func TestPairedTAgreesWithScipy(t *testing.T) {
	for i, c := range readGolden(t).PairedT {
		got := PairedT(c.D, c.Alpha)
		// Quantiles of t are had by iteration on both sides.
		close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(c.High-c.Low) }
		if !close(got.Value, c.Estimate) || !close(got.Low, c.Low) || !close(got.High, c.High) || got.N != len(c.D) {
			t.Errorf("case %d (n=%d alpha=%g): %+v, scipy %v [%v, %v]", i, len(c.D), c.Alpha, got, c.Estimate, c.Low, c.High)
		}
		if s := Spread(c.D); !near(s, c.Spread) {
			t.Errorf("case %d: spread %v, scipy %v", i, s, c.Spread)
		}
	}
}

func TestPairedTOddities(t *testing.T) {
	if iv := PairedT(nil, 0.05); !math.IsNaN(iv.Value) || iv.N != 0 {
		t.Errorf("nothing: %+v", iv)
	}
	if iv := PairedT([]float64{2}, 0.05); iv.Value != 2 || !math.IsNaN(iv.Low) || !math.IsNaN(iv.High) {
		t.Errorf("one: %+v", iv)
	}
	if iv := PairedT([]float64{0.1, 0.1, 0.1}, 0.05); !near(iv.Low, 0.1) || !near(iv.High, 0.1) {
		t.Errorf("all the same: %+v", iv)
	}
	if iv := PairedT([]float64{1, math.NaN()}, 0.05); !math.IsNaN(iv.Value) || !math.IsNaN(iv.High) {
		t.Errorf("not a number: %+v", iv)
	}
	if !math.IsNaN(Spread(nil)) {
		t.Error("the spread of nothing is not NaN")
	}
}
