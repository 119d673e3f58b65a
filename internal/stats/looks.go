package stats

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// LookAlphas returns the alpha of an interval at each look of an experiment that
// may stop at any of them, so that the intervals of all looks together cover at
// 1-alpha. looks are the numbers of blocks, rising. Later looks get more, in
// proportion to their blocks.
//
// Later blocks add to the earlier ones, so that the statistics of two looks
// correlate by the root of the ratio of their blocks, and alpha need not be divided
// by the number of looks: it is what is left over at the bounds of a Brownian
// motion (Armitage, McPherson and Rowe 1969; Jennison and Turnbull 2000, chapters 8
// and 19; the signed-rank statistic has that law in the limit). For looks at 10, 14,
// 20 and 30 blocks and alpha 0.05 these are 0.0100, 0.0140, 0.0200 and 0.0300,
// instead of 0.0125 each after Bonferroni.
//
// Looks that do not rise from above 0 get Bonferroni's.
func LookAlphas(alpha float64, looks []int) []float64 {
	if len(looks) == 0 {
		return nil
	}
	out := make([]float64, len(looks))
	if !rising(looks) || !(alpha > 0 && alpha < 1) {
		for i := range out {
			out[i] = Simultaneous(alpha, 1, len(looks))
		}
		return out
	}
	key := fmt.Sprint(alpha, looks)
	if known, ok := lookAlphas.Load(key); ok {
		return slices.Clone(known.([]float64))
	}
	last := float64(looks[len(looks)-1])
	z := make([]float64, len(looks))
	// The share c of the last look's alpha lies between Bonferroni's and alpha.
	low, high := alpha/float64(len(looks)), alpha
	for range 40 {
		c := (low + high) / 2
		for i, n := range looks {
			out[i] = c * float64(n) / last
			z[i] = normalTwoSided(out[i])
		}
		if leaves(looks, z) > alpha {
			high = c
		} else {
			low = c
		}
	}
	for i, n := range looks {
		out[i] = low * float64(n) / last
	}
	lookAlphas.Store(key, slices.Clone(out))
	return out
}

// lookAlphas remembers what was computed, some milliseconds each: reports and
// looks ask for the same over and over.
var lookAlphas sync.Map

func rising(looks []int) bool {
	for i, n := range looks {
		if n <= 0 || i > 0 && n <= looks[i-1] {
			return false
		}
	}
	return true
}

// leaves returns the probability that a Brownian motion is outside of z times its
// standard deviation at one of the times at least. The density of what has not left
// is carried from look to look with Simpson's rule.
func leaves(times []int, z []float64) float64 {
	const points = 65 // odd; steps are a tenth of a standard deviation or less
	var at, density [points]float64
	for k, t := range times {
		reach := z[k] * math.Sqrt(float64(t))
		var nextAt, next [points]float64
		for i := range next {
			nextAt[i] = reach * (2*float64(i)/(points-1) - 1)
			if k == 0 {
				next[i] = normal(nextAt[i], float64(t))
				continue
			}
			var terms [points]float64
			for j := range terms {
				terms[j] = density[j] * normal(nextAt[i]-at[j], float64(t-times[k-1]))
			}
			next[i] = simpson(terms[:], at[1]-at[0])
		}
		at, density = nextAt, next
	}
	return 1 - simpson(density[:], at[1]-at[0])
}

// normal is the density of a normal variable with mean 0.
func normal(x, variance float64) float64 {
	return math.Exp(-x*x/(2*variance)) / math.Sqrt(2*math.Pi*variance)
}

func simpson(y []float64, step float64) float64 {
	sum := y[0] + y[len(y)-1]
	for i := 1; i < len(y)-1; i++ {
		sum += y[i] * float64(2+2*(i%2))
	}
	return sum * step / 3
}
