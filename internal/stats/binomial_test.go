package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The limits are those of scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact").
func TestShareIsClopperAndPearsons(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.30849710},
		{10, 10, 0.69150290, 1},
		{5, 20, 0.08657147, 0.49104587},
		{100, 2000, 0.04086427, 0.06048172},
		{0, 0, 0, 1},
	} {
		low, high := Share(c.k, c.n, 0.05)
		if math.Abs(low-c.low) > 1e-6 || math.Abs(high-c.high) > 1e-6 {
			t.Errorf("%d of %d: [%.8f, %.8f], want [%.8f, %.8f]", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// Fisher agrees with the sum of exact integers, and with the tea that Fisher had poured.
func TestFisherIsExact(t *testing.T) {
	if p := Fisher(3, 4, 1, 4); math.Abs(p-34.0/70) > 1e-12 {
		t.Errorf("3 of 4 cups against 1 of 4: %v, want 34/70", p)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n1, n2 := 1+rng.IntN(40), 1+rng.IntN(40)
		k1, k2 := rng.IntN(n1+1), rng.IntN(n2+1)
		ways := func(i int) *big.Int {
			return new(big.Int).Mul(new(big.Int).Binomial(int64(n1), int64(i)), new(big.Int).Binomial(int64(n2), int64(k1+k2-i)))
		}
		sum := new(big.Int)
		for i := max(0, k1+k2-n2); i <= min(k1+k2, n1); i++ {
			if w := ways(i); w.Cmp(ways(k1)) <= 0 {
				sum.Add(sum, w)
			}
		}
		want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(int64(n1+n2), int64(k1+k2))).Float64()
		if got := Fisher(k1, n1, k2, n2); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of %d against %d of %d: %v, want %v", k1, n1, k2, n2, got, want)
		}
	}
}

func TestRanksShareTies(t *testing.T) {
	got := Ranks([]float64{3, 1, 3, 2})
	for i, want := range []float64{2.5, 0, 2.5, 1} {
		if got[i] != want {
			t.Fatalf("ranks %v", got)
		}
	}
}
