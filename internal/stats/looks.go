package stats

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/integrate"
)

// finite is what the last of several looks keeps of its alpha, because the
// signed-rank statistics of so few blocks have not quite the law of LookAlphas's
// limit: with all of it, looks at 10, 14, 20 and 30 blocks leave with 5.08 % in place
// of 5 %. At the last look it costs one step of the statistic; at a first look of 10
// blocks, whose next step is 10/1024, it would cost 40 % of alpha. The figures with it
// are at TestLookAlphasCoverTogether.
const finite = 0.96

// LookAlphas returns the alpha of an interval at each look of an experiment that
// may stop at any of them, so that the intervals of all looks together cover at
// 1-alpha. looks are the numbers of blocks, rising. Later looks get more, in
// proportion to their blocks.
//
// Later blocks add to the earlier ones, so that the statistics of two looks
// correlate by the root of the ratio of their blocks, and alpha need not be divided
// by the number of looks: it is what is left over at the bounds of a Brownian
// motion (Armitage, McPherson and Rowe 1969; Jennison and Turnbull 2000, chapters 8
// and 19; the signed-rank statistic has that law in the limit). The last
// look's is 4 % less, for not being in the limit. For looks at 10, 14, 20 and 30 blocks
// and alpha 0.05 these are 0.0100, 0.0140, 0.0200 and 0.0288, instead of 0.0125 each
// after Bonferroni.
//
// With student, intervals are Student's where ranks have none (see MinBlocks), as
// those of split plots are. Their statistics of few blocks have heavier tails and
// correlate less, so that three looks at 2, 3 and 4 blocks would leave with 6 %:
// where a look is below MinBlocks at its alpha, all get Bonferroni's. So do looks
// that do not rise from above 0, and those too close for their number to compute.
func LookAlphas(alpha float64, looks []int, student bool) []float64 {
	if len(looks) == 0 {
		return nil
	}
	key := fmt.Sprint(alpha, looks)
	found, ok := lookAlphas.Load(key)
	if !ok {
		found = brownian(alpha, looks)
		lookAlphas.Store(key, found)
	}
	out := slices.Clone(found.([]float64))
	if student {
		for i, n := range looks {
			if n < MinBlocks(out[i]) {
				return bonferroni(alpha, len(looks))
			}
		}
	}
	return out
}

// lookAlphas remembers what was computed, some milliseconds each: reports and
// looks ask for the same over and over.
var lookAlphas sync.Map

func bonferroni(alpha float64, looks int) []float64 {
	return slices.Repeat([]float64{Simultaneous(alpha, 1, looks)}, looks)
}

// brownian is LookAlphas for intervals of ranks.
func brownian(alpha float64, looks []int) []float64 {
	if len(looks) == 1 || !rising(looks) || !(alpha > 0 && alpha < 1) {
		return bonferroni(alpha, len(looks))
	}
	out, z := make([]float64, len(looks)), make([]float64, len(looks))
	last := float64(looks[len(looks)-1])
	// The share c of the last look's alpha lies between Bonferroni's and alpha.
	low, high := alpha/float64(len(looks)), alpha
	for high-low > 1e-7*alpha {
		c := (low + high) / 2
		for i, n := range looks {
			out[i] = c * float64(n) / last
			z[i] = normalTwoSided(out[i])
		}
		left, ok := leaves(looks, z)
		if !ok {
			return bonferroni(alpha, len(looks))
		}
		if left > alpha {
			high = c
		} else {
			low = c
		}
	}
	for i, n := range looks {
		out[i] = low * float64(n) / last
	}
	out[len(out)-1] *= finite
	return out
}

func rising(looks []int) bool {
	for i, n := range looks {
		if n <= 0 || i > 0 && n <= looks[i-1] {
			return false
		}
	}
	return true
}

// The density of a look is known at points of this distance or less, in standard
// deviations of the smaller of the steps before and after it, and at minPoints at
// least. Looks closer than maxPoints can tell apart differ by some 1 in 50,000 of
// their blocks.
const (
	distance  = 0.5
	minPoints = 65
	maxPoints = 2049
)

// points returns how many points, an odd number, the density at time t needs that
// reaches as far as reach, between steps of the given variances.
func points(reach, before, after float64) int {
	n := 2*reach/(distance*math.Sqrt(min(before, after))) + 1
	return max(minPoints, int(math.Ceil(min(n, 2*maxPoints)))|1)
}

// leaves returns the probability that a Brownian motion is outside of z times its
// standard deviation at one of the times at least. The density of what has not left
// is carried from look to look with Simpson's rule. ok is false where two times are
// so close that it would take too many points.
func leaves(times []int, z []float64) (p float64, ok bool) {
	var at, density []float64
	for k, t := range times {
		reach := z[k] * math.Sqrt(float64(t))
		before := float64(t)
		if k > 0 {
			before = float64(t - times[k-1])
		}
		after := before
		if k+1 < len(times) {
			after = float64(times[k+1] - t)
		}
		n := points(reach, before, after)
		if n > maxPoints {
			return math.NaN(), false
		}
		nextAt, next, terms := make([]float64, n), make([]float64, n), make([]float64, len(at))
		far := 9 * math.Sqrt(before) // beyond, nothing is left of a normal density
		for i := range next {
			nextAt[i] = reach * (2*float64(i)/float64(n-1) - 1)
			if k == 0 {
				next[i] = normal(nextAt[i], before)
				continue
			}
			for j := range terms {
				terms[j] = 0
				if d := nextAt[i] - at[j]; math.Abs(d) < far {
					terms[j] = density[j] * normal(d, before)
				}
			}
			next[i] = integrate.Simpsons(at, terms)
		}
		at, density = nextAt, next
	}
	return 1 - integrate.Simpsons(at, density), true
}

// normal is the density of a normal variable with mean 0.
func normal(x, variance float64) float64 {
	return math.Exp(-x*x/(2*variance)) / math.Sqrt(2*math.Pi*variance)
}
