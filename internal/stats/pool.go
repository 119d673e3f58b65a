package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Pooled is what one study says over several hosts (random effects). Effects are on the scale that they came in.
type Pooled struct {
	K         int
	Mean      float64 // over hosts like these
	Low, High float64 // of Mean
	Tau       float64 // standard deviation of the true effect between hosts
	Q, P      float64 // Cochran's Q, and how likely it is as great without differences between hosts
	Share     float64 // of the scatter seen that differences between hosts make (I squared)
	// NextLow and NextHigh are the ends of the interval in which the next host's effect is expected; NaN below three
	// hosts.
	NextLow, NextHigh float64
}

// Pool joins effects with the variances of their errors: the variance between hosts by Paule and Mandel (1982), the
// mean's interval by Hartung and Knapp (2001), the next host's by Higgins, Thompson and Spiegelhalter (2009). The
// error is about input: it takes two effects, all finite, with variances above 0.
func Pool(effects, variances []float64, alpha float64) (Pooled, error) {
	k := len(effects)
	if k < 2 || len(variances) != k {
		return Pooled{}, fmt.Errorf("it takes effects of two hosts or more, not %d", k)
	}
	for i := range effects {
		if !isFinite(effects[i]) || !isFinite(variances[i]) || variances[i] <= 0 {
			return Pooled{}, fmt.Errorf("effect %d is %v with variance %v", i+1, effects[i], variances[i])
		}
	}
	p := Pooled{K: k, NextLow: math.NaN(), NextHigh: math.NaN()}
	_, _, p.Q = weighted(effects, variances, 0)
	df := float64(k - 1)
	p.P = distuv.ChiSquared{K: df}.Survival(p.Q)
	if p.Q > df {
		p.Share = 1 - df/p.Q
	}
	tau2 := between(effects, variances)
	p.Tau = math.Sqrt(tau2)
	mean, sum, q := weighted(effects, variances, tau2)
	// The factor q/df is left below 1 where hosts scatter less than their errors: with 1 for it, intervals of five equal
	// hosts would hold the mean in 99 % of the cases.
	variance := q / df / sum
	p.Mean = mean
	half := student(df, alpha) * math.Sqrt(variance)
	p.Low, p.High = mean-half, mean+half
	if k > 2 {
		half = student(df-1, alpha) * math.Sqrt(tau2+variance)
		p.NextLow, p.NextHigh = mean-half, mean+half
	}
	return p, nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func student(df, alpha float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
}

// weighted returns the mean with weights 1/(variance+tau2), their sum, and the weighted sum of squares around it.
func weighted(effects, variances []float64, tau2 float64) (mean, sum, q float64) {
	for i, y := range effects {
		w := 1 / (variances[i] + tau2)
		sum += w
		mean += w * y
	}
	mean /= sum
	for i, y := range effects {
		q += (y - mean) * (y - mean) / (variances[i] + tau2)
	}
	return mean, sum, q
}

// between is the variance between hosts that makes the weighted sum of squares what it is expected to be. That sum
// falls as the variance rises.
func between(effects, variances []float64) float64 {
	df := float64(len(effects) - 1)
	beyond := func(tau2 float64) bool { _, _, q := weighted(effects, variances, tau2); return q > df }
	if !beyond(0) {
		return 0
	}
	low, high := 0.0, Variance(effects)+1e-300
	for beyond(high) {
		high *= 2
	}
	for range 100 { // more than a float64 tells apart
		mid := low + (high-low)/2
		if beyond(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
