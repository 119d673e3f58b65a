package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
)

// Pairs are pairs of periods, in each of which a coin decided whether the level came first or second
// (a switchback: Bojinov, Simchi-Levi and Zhao, Management Science 2023).
type Pairs struct {
	Steps []float64 // from the first period to the second, on the scale of the test
	Coins []float64 // 1 where the level came second, -1 where it came first
	Drift []float64 // what else went from the first period to the second, not moved by the level; nil: nothing known
}

// Switchback estimates what the level adds, from the coins alone. At each theta, Coins times theta is
// taken from Steps, and what is left is cleared of its mean and of what a line through Drift explains.
// Neither knows the coins: if theta is the effect, then what is left would have been the same with all others,
// so that the signs of Coins times it are those of fair coins, whatever the noise of the service
// is, and the signed-rank test is exact. The interval at confidence 1-alpha holds every theta that it does not refuse;
// the estimate is where its sum of ranks is in the middle. (Rosenbaum, Statistical Science 2002, for covariates in such
// tests.)
//
// Sums of two such values fall as theta rises, as Walsh averages do, unless a pair's Drift is so far
// from all others that it alone decides on the line: its sums may rise. They count to both sides, so that the interval
// is at worst wider than it need be. All is NaN where a value is not finite; an end is infinite where too few sums
// fall.
//
// effects are those of the pairs, cleared of mean and line as the regression of Steps on Coins, 1 and Drift
// has them, so that their mean is its coefficient of Coins. explained is the share of their variance that
// Drift took out.
func Switchback(p Pairs, alpha float64) (iv result.Estimate, effects []float64, explained float64) {
	n := len(p.Steps)
	iv = result.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), N: n}
	var fall, rise []float64 // where sums of two values pass 0
	left, takes := p.clear(p.Steps), p.clear(p.Coins)
	for i := range n {
		left[i], takes[i] = left[i]*p.Coins[i], takes[i]*p.Coins[i]
		if math.IsNaN(left[i]) || math.IsInf(left[i], 0) {
			return iv, nil, 0
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			if t := takes[i] + takes[j]; t > 1e-9 {
				fall = append(fall, (left[i]+left[j])/t)
			} else {
				rise = append(rise, 0)
			}
		}
	}
	if effects, explained = p.effects(); effects == nil {
		return iv, nil, 0 // coins alike, or those of the drift: the level is one with it
	}
	slices.Sort(fall)
	iv.Value = SortedQuantile(fall, 0.5) + 0 // -0 becomes 0
	if k := signedRankCritical(n, alpha); k >= 0 {
		iv.Low, iv.High = math.Inf(-1), math.Inf(1)
		if k -= len(rise); k >= 0 {
			iv.Low, iv.High = fall[k]+0, fall[len(fall)-1-k]+0
		}
	}
	return iv, effects, explained
}

// clear takes from values their mean, and what a line through Drift explains.
func (p Pairs) clear(values []float64) []float64 {
	out := slices.Clone(values)
	floats.AddConst(-Mean(values), out)
	if x := p.drift(); x != nil {
		floats.AddScaled(out, -floats.Dot(x, out)/floats.Dot(x, x), x)
	}
	return out
}

// drift is Drift less its mean; nil where it does not change.
func (p Pairs) drift() []float64 {
	if p.Drift == nil {
		return nil
	}
	x := slices.Clone(p.Drift)
	floats.AddConst(-Mean(x), x)
	if floats.Norm(x, 2) <= 1e-12*max(1, floats.Norm(p.Drift, 2)) {
		return nil
	}
	return x
}

// effects are what the regression leaves of each pair for the level, and the share of variance that Drift
// explains of it.
func (p Pairs) effects() (effects []float64, explained float64) {
	without := p
	without.Drift = nil
	if effects = p.regress(); effects == nil {
		return nil, 0
	}
	if before := Variance(without.regress()); p.Drift != nil && before > 0 {
		explained = max(0, 1-Variance(effects)/before)
	}
	return effects, explained
}

func (p Pairs) regress() []float64 {
	own := p.clear(p.Coins)
	squares := floats.Dot(own, own)
	if squares < 1e-9 {
		return nil
	}
	theta := floats.Dot(own, p.Steps) / squares
	rest := slices.Clone(p.Steps)
	floats.AddScaled(rest, -theta, p.Coins)
	out := p.clear(rest)
	for i, c := range p.Coins {
		out[i] = theta + c*out[i]
	}
	return out
}
