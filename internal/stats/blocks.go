package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
)

// MaxRandomised is the largest number of blocks that Randomised is made for: its memory grows
// with their square.
const MaxRandomised = 500

// Randomised estimates how far values[0], one of each block, lies above the others of its block,
// from the order that a coin gave them: without an effect, its place among the values of
// its block is any with equal probability, whatever the noise of that block is.
//
// It is the aligned rank test (Hodges and Lehmann 1962; Lehmann, Nonparametrics, section 3.3):
// theta is taken from values[0], each block is centred on its mean, all values are ranked
// together, and the sum of the ranks of values[0] is compared with its exact law, the
// convolution over blocks of one rank of each, all equally likely. The estimate is the theta at
// which that sum is its mean; the interval at confidence 1-alpha holds every theta that the
// test does not refuse, and is NaN where so few blocks refuse none (minRandomised).
//
// The law depends a little on theta, so that what is not refused may have gaps. They are
// part of the interval where they are near its end.
//
// covariate, nil for none, is what was seen of the same runs: at each theta, what a line
// through it explains is taken from the centred values first. The line knows nothing of which value
// is whose, so that the law holds. slope is that line's at the estimate. All is NaN where a
// value is not finite.
func Randomised(values, covariate [][]float64, alpha float64) (iv result.Estimate, slope float64) {
	n := len(values[0])
	iv = result.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), N: n}
	a := align(values, covariate)
	if n == 0 || a == nil {
		return iv, 0
	}
	at := a.crossings()
	// Half of all pairs, since the ranks of values[0] then have the mean of all.
	iv.Value = SortedQuantile(at, 0.5) + 0 // -0 becomes 0
	slope = a.slope - iv.Value*a.with
	if n < minRandomised(alpha, len(values)-1) {
		return iv, slope
	}
	at = slices.Compact(at)
	iv.Low, iv.High = a.bound(at, alpha/2, 1), a.bound(at, alpha/2, -1)
	return iv, slope
}

// minRandomised returns the fewest blocks at which Randomised can give an interval at confidence
// 1-alpha, with so many values of the baseline in each: 4 at alpha 0.05 with two.
func minRandomised(alpha float64, base int) int {
	return int(math.Ceil(math.Log(2/alpha)/math.Log(float64(base+1)) - 1e-9))
}

// aligned are the values of all blocks, less their block's mean, block by block.
type aligned struct {
	cells int // of a block
	z     []float64
	takes []float64 // what a unit of theta takes from each
	// The line of the covariate through z has this slope less with times theta.
	slope, with float64
}

func align(values, covariate [][]float64) *aligned {
	a := &aligned{cells: len(values), z: centred(values)}
	for _, z := range a.z {
		if math.IsNaN(z) || math.IsInf(z, 0) {
			return nil
		}
	}
	own := make([][]float64, len(values)) // 1 for values[0], 0 for the others
	for c := range own {
		own[c] = make([]float64, len(values[0]))
	}
	for b := range own[0] {
		own[0][b] = 1
	}
	a.takes = centred(own)
	if covariate == nil {
		return a
	}
	x := centred(covariate)
	if squares := floats.Dot(x, x); squares > 0 {
		a.slope, a.with = floats.Dot(x, a.z)/squares, floats.Dot(x, a.takes)/squares
		floats.AddScaled(a.z, -a.slope, x)
		floats.AddScaled(a.takes, -a.with, x)
	}
	return a
}

// centred are values less the mean of their block, block by block.
func centred(values [][]float64) (z []float64) {
	for b := range values[0] {
		mean := 0.0
		for c := range values {
			mean += values[c][b] / float64(len(values))
		}
		for c := range values {
			z = append(z, values[c][b]-mean)
		}
	}
	return z
}

// crossings returns the thetas, sorted, at which one of values[0] passes another's.
func (a *aligned) crossings() (at []float64) {
	for i := 0; i < len(a.z); i += a.cells {
		for j, z := range a.z {
			// Where a covariate explains a block's values wholly, none passes.
			if takes := a.takes[i] - a.takes[j]; j%a.cells > 0 && takes > 1e-9 {
				at = append(at, (a.z[i]-z)/takes)
			}
		}
	}
	slices.Sort(at)
	return at
}

// outwards is how many steps of the sum beyond the end of what is not refused are tried for more of it.
const outwards = 4

// bound returns the end of the interval on the low side (side 1) or the high one (-1): the outermost
// of the crossings, sorted and each once, beyond which theta is refused at alpha.
func (a *aligned) bound(at []float64, alpha float64, side int) float64 {
	crossing := func(i int) float64 { // from the side's end
		if side > 0 {
			return at[i]
		}
		return at[len(at)-1-i]
	}
	last := len(at) - 1
	by := func(law func([]int, int) float64) func(int) bool { // refused just inside of crossing i
		return func(i int) bool {
			if i < 0 || i >= last {
				return i < 0
			}
			return law(a.short(crossing(i)/2+crossing(i+1)/2, side)) <= alpha
		}
	}
	refused := by(a.normal)
	low, end := -1, last // refused, and not
	for end-low > 1 {
		if mid := (low + end) / 2; refused(mid) {
			low = mid
		} else {
			end = mid
		}
	}
	if len(a.z)/a.cells > maxExactBlocks {
		return crossing(end) + 0 // -0 becomes 0
	}
	refused = by(a.exact)
	for step := 1; !refused(low); step *= 2 {
		low, end = low-step, low
	}
	for step := 1; refused(end); step *= 2 {
		low, end = end, min(end+step, last)
	}
	for end-low > 1 {
		if mid := (low + end) / 2; refused(mid) {
			low = mid
		} else {
			end = mid
		}
	}
	for i := end - 1; i >= end-outwards; i-- {
		if !refused(i) {
			end = i
		}
	}
	return crossing(end) + 0
}

// short returns how much the rank of each value is below the best of its block at theta (side 1), or
// above the least (-1), in steps of the sum of ranks; and that sum for values[0].
func (a *aligned) short(theta float64, side int) (short []int, seen int) {
	z := make([]float64, len(a.z))
	for i, v := range a.z {
		z[i] = float64(side) * (v - theta*a.takes[i])
	}
	ranks := Ranks(z)
	scale := 1.0
	if slices.ContainsFunc(ranks, func(r float64) bool { return r != math.Trunc(r) }) {
		scale = 2 // ranks that are shared
	}
	short = make([]int, len(ranks))
	for i := 0; i < len(ranks); i += a.cells {
		best := slices.Max(ranks[i : i+a.cells])
		for j := i; j < i+a.cells; j++ {
			short[j] = int((best - ranks[j]) * scale)
		}
		seen += short[i]
	}
	return short, seen
}

// exact returns the probability of a sum of at most seen, where each block gives one of its values.
func (a *aligned) exact(short []int, seen int) float64 {
	p, next := make([]float64, seen+1), make([]float64, seen+1) // ways to each sum
	p[0] = 1
	top := 0 // of the sums so far
	for i := 0; i < len(short); i += a.cells {
		block := short[i : i+a.cells]
		most := slices.Max(block)
		clear(next[:min(seen, top+most)+1])
		for _, s := range block {
			if s > seen {
				continue
			}
			to := next[s:]
			for v, ways := range p[:min(top, seen-s)+1] {
				to[v] += ways
			}
		}
		top = min(seen, top+most)
		p, next = next, p
	}
	return floats.Sum(p[:top+1]) / math.Pow(float64(a.cells), float64(len(short)/a.cells))
}

// maxExactBlocks is up to how many blocks the law is exact. Beyond it is the normal one with a correction
// for continuity, whose tails are within 5 % of it below and 15 % above (TestRandomisedOfMany).
const maxExactBlocks = 60

// normal is exact's limit.
func (a *aligned) normal(short []int, seen int) float64 {
	mean, variance := 0.0, 0.0
	for i := 0; i < len(short); i += a.cells {
		sum, squares := 0.0, 0.0
		for _, s := range short[i : i+a.cells] {
			sum += float64(s) / float64(a.cells)
			squares += float64(s) * float64(s) / float64(a.cells)
		}
		mean += sum
		variance += squares - sum*sum
	}
	if !(variance > 0) {
		return 1 // all sums are the same
	}
	return math.Erfc((mean-float64(seen)-0.5)/math.Sqrt(2*variance)) / 2
}
