package stats

import (
	"math"
	"slices"
)

// LeastPeers is the smallest group that Peers judges.
const LeastPeers = 8

// Peers returns for each value how likely one as far apart is where all come from one distribution, which may have
// tails as heavy as Student's with three degrees of freedom or be as skewed as an exponential one. Up to a fifth of the
// values may be apart, on both sides, without hiding each other. Below LeastPeers values all is 1. gap is the widest,
// in widths of the rest, for Tails.
func Peers(values []float64) (p []float64, gap float64) {
	p = slices.Repeat([]float64{1}, len(values))
	if len(values) < LeastPeers {
		return p, 0
	}
	order, apart := byValue(values), len(values)/5
	for range 2 { // the smallest, then the largest
		widest := 0.0 // gap before this value or one nearer to the rest, in widths of the rest
		for first := apart; first > 0; first-- {
			near, far := values[order[first]], values[order[len(order)-1-(apart-first)]]
			if wide := math.Abs(near - values[order[first-1]]); wide > 0 {
				widest = max(widest, wide/math.Abs(far-near)) // infinite where the rest is equal
			}
			times := widestGap / widest
			p[order[first-1]] = min(1, 0.05/float64(len(values))*times*times*times)
		}
		slices.Reverse(order)
		gap = max(gap, min(widest, 2*widestGap))
	}
	return p, gap
}

// widestGap is the gap, in widths of the rest, beyond which 5 % at most of groups of 8 to 100 equals have a value
// apart, under the laws that TestPeersLaw tries. Tails of three degrees of freedom fall with the third power. Where the
// tails of a fleet are lighter, usualGap times the upper quartile of its gaps takes the place of widestGap, but never
// less than leastGap (bench/outliers).
const widestGap, usualGap, leastGap = 3.0, 3.2, 1.2

// LeastTails is the least that Tails returns.
const LeastTails = leastGap * leastGap * leastGap / (widestGap * widestGap * widestGap)

// Tails is by what the p of Peers are to be multiplied in a fleet of which gaps are the widest in each group and
// measurement: where most of them are narrow, tails are light, and a gap that heavy tails would have in one of twenty
// groups is less likely. Less than five gaps do not tell.
func Tails(gaps []float64) float64 {
	if len(gaps) < 5 {
		return 1
	}
	share := min(max(usualGap*Quantile(gaps, 0.75), leastGap), widestGap) / widestGap
	return share * share * share
}

// Discoveries tells which of many p values are taken as found, so that of those found a share of q are false at
// most, on average (Benjamini and Hochberg 1995).
func Discoveries(p []float64, q float64) []bool {
	order, out := byValue(p), make([]bool, len(p))
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
