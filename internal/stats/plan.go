package stats

import "math"

// MinBlocks returns the smallest number of blocks at which HodgesLehmann can
// give an interval at confidence 1-alpha: 6 at alpha 0.05.
func MinBlocks(alpha float64) int { return 1 + int(math.Ceil(math.Log2(1/alpha))) }

// Simultaneous returns the alpha of each single interval, so that all intervals
// of that many contrasts at that many looks cover together at 1-alpha (Bonferroni:
// whatever they have to do with each other). Less than one of either counts as one.
func Simultaneous(alpha float64, contrasts, looks int) float64 {
	return alpha / float64(max(contrasts, 1)*max(looks, 1))
}

// maxBlocks is more than any experiment has; beyond it a plan is not worth a number.
const maxBlocks = 1_000_000_000

// BlocksNeeded returns the number of blocks at which the signed-rank test at alpha
// (two-sided) finds an effect delta with probability power, where the differences
// of blocks have standard deviation sd: (z(1-alpha/2)+z(power))^2/0.955 (sd/delta)^2,
// since the test needs pi/3 times the blocks of Student's for normal differences
// (Hollander, Wolfe and Chicken, section 3.1), and at least MinBlocks(alpha). It
// returns 0, not known, when an argument makes no sense, and at most 10^9.
func BlocksNeeded(sd, delta, alpha, power float64) int {
	if !(sd >= 0) || !(delta > 0) || !(alpha > 0 && alpha < 1) || !(power > 0 && power < 1) {
		return 0
	}
	r := detectable(sd, 1, alpha, power) / delta
	n := math.Ceil(r * r)
	return max(MinBlocks(alpha), int(min(n, maxBlocks)))
}

// Detectable returns the effect that BlocksNeeded's test finds in so many blocks with probability power; NaN: they are
// fewer than MinBlocks, and find none.
func Detectable(sd float64, blocks int, alpha, power float64) float64 {
	if blocks < MinBlocks(alpha) {
		return math.NaN()
	}
	return detectable(sd, blocks, alpha, power)
}

func detectable(sd float64, blocks int, alpha, power float64) float64 {
	z := normalTwoSided(alpha) + normalTwoSided(2*(1-power))
	return max(z, 0) * sd * math.Sqrt(math.Pi/3/float64(blocks))
}
