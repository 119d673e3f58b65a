package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Share returns the interval of a probability at confidence 1-alpha where k of n
// trials had the event (Clopper and Pearson 1934): it is exact, and never too narrow.
func Share(k, n int, alpha float64) (low, high float64) {
	a, b := float64(k), float64(n-k)
	high = 1
	if k > 0 {
		low = distuv.Beta{Alpha: a, Beta: b + 1}.Quantile(alpha / 2)
	}
	if k < n {
		high = distuv.Beta{Alpha: a + 1, Beta: b}.Quantile(1 - alpha/2)
	}
	return low, high
}

// Fisher returns the two-sided p of Fisher's exact test of k1 events in n1 trials
// against k2 in n2: the probability of all tables with these sums that are no more
// probable than this one. It is 1 where there is nothing to compare.
func Fisher(k1, n1, k2, n2 int) float64 {
	k := k1 + k2
	if n1 <= 0 || n2 <= 0 || k == 0 || k == n1+n2 {
		return 1
	}
	choose := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	all := choose(n1+n2, k)
	table := func(i int) float64 { return choose(n1, i) + choose(n2, k-i) - all }
	seen := table(k1) + 1e-7 // equal tables round differently
	p := 0.0
	for i := max(0, k-n2); i <= min(k, n1); i++ {
		if l := table(i); l <= seen {
			p += math.Exp(l)
		}
	}
	return min(p, 1)
}
