package stats

import (
	"cmp"
	"math"
	"slices"
)

// LeastPeers is the smallest group that Peers judges.
const LeastPeers = 8

// Peers returns for each value how likely one as far from the others is, where all come from one distribution, which
// may have tails as heavy as Student's with three degrees of freedom or be as skewed as an exponential one. The others
// are taken without the farthest fifth of them, so that one outlier does not hide another. Below LeastPeers values all
// is 1.
func Peers(values []float64) []float64 {
	p := make([]float64, len(values))
	if len(values) < LeastPeers {
		for i := range p {
			p[i] = 1
		}
		return p
	}
	for i, d := range distances(values) {
		p[i] = min(1, 0.05/float64(len(values))*math.Pow(farthest/math.Abs(d), 3))
	}
	return p
}

// farthest is the distance beyond which one of 8 to 20 values is in 5 % of groups of equals, at most, of the laws that
// TestPeersLaw tries. Tails of three degrees of freedom fall with the third power.
const farthest = 16

// large is the number of values from which on each is in the middle of its own others.
const large = 100

// distances are those from the mean of the others, in their standard deviations.
func distances(values []float64) []float64 {
	out := make([]float64, len(values))
	others := slices.Clone(values)
	mean, sd := core(others)
	for i, v := range values {
		if len(values) < large {
			others = append(append(others[:0], values[:i]...), values[i+1:]...)
			mean, sd = core(others)
		}
		switch {
		case sd > 0:
			out[i] = (v - mean) / sd
		case v != mean:
			out[i] = math.Inf(1)
		}
	}
	return out
}

// core sorts values by their distance from the median, and returns mean and standard deviation of the nearest four
// fifths.
func core(values []float64) (mean, sd float64) {
	middle := Median(values)
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a-middle), math.Abs(b-middle)) })
	values = values[:len(values)-len(values)/5]
	return Mean(values), math.Sqrt(Variance(values))
}

// Discoveries tells which of many p values are taken as found, so that of those found a share of q are false at
// most, on average (Benjamini and Hochberg 1995).
func Discoveries(p []float64, q float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]bool, len(p))
	for rank := len(order); rank > 0; rank-- {
		if p[order[rank-1]] <= q*float64(rank)/float64(len(p)) {
			for _, i := range order[:rank] {
				out[i] = true
			}
			break
		}
	}
	return out
}
