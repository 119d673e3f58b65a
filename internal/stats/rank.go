// Package stats holds the estimators and tests behind every verdict. They are
// rank-based, because run times on shared hosts have stalls and drift, which
// move a mean and its standard deviation more than the effects looked for.
package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"hostlab/internal/result"
)

// Median returns the middle of x, or NaN for none. It does not modify x.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quantile returns the q-quantile of x by linear interpolation between order
// statistics (Hyndman and Fan's type 7, as in R and NumPy), or NaN for none.
// It does not modify x.
func Quantile(x []float64, q float64) float64 {
	if len(x) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return SortedQuantile(s, q)
}

// SortedQuantile is Quantile of a sample that is sorted.
func SortedQuantile(s []float64, q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	h := min(max(q, 0), 1) * float64(len(s)-1)
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// QuantileInterval estimates the q-quantile with a distribution-free interval at
// confidence 1-alpha: two order statistics of x, chosen so that each tail of the
// binomial law of ranks holds at most alpha/2. An end is NaN when x is too small
// for it, as the upper one of p99 is below about 370 independent values. The values must
// be independent; those of one burst are not.
func QuantileInterval(x []float64, q, alpha float64) result.Estimate {
	n := len(x)
	s := slices.Sorted(slices.Values(x))
	e := result.Estimate{Value: SortedQuantile(s, q), Low: math.NaN(), High: math.NaN(), N: n}
	if n == 0 || q <= 0 || q >= 1 {
		return e
	}
	// The number of values below the quantile is B ~ Bin(n, q). The largest l with
	// P(B < l) <= alpha/2 bounds it from below, the smallest u with
	// P(B >= u) <= alpha/2 from above (1-based ranks).
	law := distuv.Binomial{N: float64(n), P: q}
	l, u := 0, n+1
	cdf := 0.0
	for k := 0; k <= n; k++ {
		if cdf <= alpha/2 { // cdf is P(B < k) here
			l = k
		}
		cdf += law.Prob(float64(k))
		if 1-cdf <= alpha/2 { // 1-cdf is P(B >= k+1)
			u = k + 1
			break
		}
	}
	if l >= 1 {
		e.Low = s[l-1]
	}
	if u <= n {
		e.High = s[u-1]
	}
	return e
}

// byValue returns the places of the values of x in their order; equal ones stay as they are.
func byValue(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// Ranks returns the rank of each value of x, from 0; equal ones share their mean.
func Ranks(x []float64) []float64 {
	order, r := byValue(x), make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		if j == i { // NaN
			j++
		}
		for k := i; k < j; k++ {
			r[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return r
}

// PairedRatio estimates a/b over blocks from their logarithms, with interval.
// Pairs in which a value is not positive and finite are left out, and N says how
// many were left.
func PairedRatio(a, b []float64, alpha float64) result.Estimate {
	var d []float64
	for i := range min(len(a), len(b)) {
		if x := math.Log(a[i]) - math.Log(b[i]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			d = append(d, x)
		}
	}
	return HodgesLehmann(d, alpha).Map(math.Exp)
}

// Floor is the noise floor that an A/A ratio shows: how far from 1 its interval
// reaches. NaN when there is no interval.
func Floor(aa result.Estimate) float64 {
	return math.Max(math.Abs(aa.Low-1), math.Abs(aa.High-1))
}
