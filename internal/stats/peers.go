package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// LeastPeers is the smallest group that Peers judges.
const LeastPeers = 8

// Peers returns for each value how likely one as far from the others is, where all come from one normal distribution.
// The others are taken without the farthest fifth of them, so that one outlier does not hide another. Below LeastPeers
// values all is 1.
func Peers(values []float64) []float64 {
	p := make([]float64, len(values))
	if len(values) < LeastPeers {
		for i := range p {
			p[i] = 1
		}
		return p
	}
	law := laws[min(len(values)-LeastPeers, len(laws)-1)]
	if len(values) >= large {
		law = ofLarge
	}
	t := distuv.StudentsT{Sigma: 1, Nu: law.df}
	for i, d := range distances(values) {
		p[i] = 2 * t.Survival(math.Abs(d)/law.scale)
	}
	return p
}

// laws are of distances without outliers, by the number of values from LeastPeers on: Student's distribution of df
// degrees of freedom, times a scale. TestPeersLaw simulates them; the last holds up to large groups.
var laws = []law{
	{1.455, 4.64}, {1.411, 5.77}, {1.360, 6.89}, {1.620, 6.49}, {1.552, 7.46}, {1.492, 8.40}, {1.444, 9.09},
	{1.421, 10.24}, {1.563, 9.46}, {1.528, 10.44}, {1.505, 11.53}, {1.474, 12.73}, {1.441, 13.25},
	{1.554, 12.48}, {1.534, 14.06}, {1.509, 15.22}, {1.483, 15.83}, {1.462, 17.14}, {1.567, 17.83},
	{1.521, 16.80}, {1.513, 19.30}, {1.492, 20.08}, {1.467, 19.68}, {1.541, 20.08}, {1.517, 20.48},
	{1.504, 20.89}, {1.491, 22.17}, {1.474, 24.96}, {1.513, 18.55}, {1.516, 22.61}, {1.501, 23.06},
	{1.493, 24.47}, {1.470, 23.52},
	{1.54, 26},
}

type law struct{ scale, df float64 }

var ofLarge = law{1.52, 150}

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
