package stats

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// permutations are enough for a p that is compared with 0.01: its own error is then 0.3 %.
const permutations = 999

// Related returns the p of no relation of x and y: how often Spearman's rank correlation is as large with one of them in
// a random order. seed makes that order the same each time. p is 1 below 8 values.
func Related(x, y []float64, seed uint64) (p float64) {
	a, b := unit(Ranks(x)), unit(Ranks(y))
	rho := math.Abs(floats.Dot(a, b))
	if len(x) < 8 || rho == 0 {
		return 1
	}
	rng, larger := rand.New(rand.NewPCG(seed, uint64(len(x)))), 1
	for range permutations {
		rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		if math.Abs(floats.Dot(a, b)) >= rho-1e-12 {
			larger++
		}
	}
	return float64(larger) / (permutations + 1)
}

// unit are x less their mean, as a vector of length 1; zeros where all are the same.
func unit(x []float64) []float64 {
	floats.AddConst(-Mean(x), x)
	if n := floats.Norm(x, 2); n > 1e-9 {
		floats.Scale(1/n, x)
	}
	return x
}
