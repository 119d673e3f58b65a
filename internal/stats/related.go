package stats

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// permutations are enough for a p that is compared with 0.05 and 0.01: its own error is then 0.7 % and 0.3 %.
const permutations = 999

// Related returns which of some lists d goes with most, by Spearman's rank correlation rho, and the p of none: how
// often the largest of all correlations is as large in a random order of d. seed makes that order the same each time.
// p is 1 below 8 values.
func Related(d []float64, lists [][]float64, seed uint64) (which int, rho, p float64) {
	own := unit(Ranks(d))
	var ranks [][]float64
	for i, x := range lists {
		ranks = append(ranks, unit(Ranks(x)))
		if r := floats.Dot(own, ranks[i]); math.Abs(r) > math.Abs(rho) {
			which, rho = i, r
		}
	}
	if len(d) < 8 || rho == 0 {
		return which, rho, 1
	}
	rng, larger := rand.New(rand.NewPCG(seed, uint64(len(d)))), 1
	for range permutations {
		rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		for _, r := range ranks {
			if math.Abs(floats.Dot(own, r)) >= math.Abs(rho)-1e-12 {
				larger++
				break
			}
		}
	}
	return which, rho, float64(larger) / (permutations + 1)
}

// unit are x less their mean, as a vector of length 1; zeros where all are the same.
func unit(x []float64) []float64 {
	floats.AddConst(-Mean(x), x)
	if n := floats.Norm(x, 2); n > 1e-9 {
		floats.Scale(1/n, x)
	}
	return x
}
