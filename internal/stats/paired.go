package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"hostlab/internal/result"
)

// PairedT estimates the mean of the paired differences d with Student's interval
// at confidence 1-alpha on len(d)-1 degrees of freedom. Unlike HodgesLehmann it
// follows rare stalls, and it has an interval from two differences on. Low and
// High are NaN for fewer; all is NaN for none or where a value is not finite.
func PairedT(d []float64, alpha float64) result.Estimate {
	n := float64(len(d))
	iv := result.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), N: len(d)}
	mean, variance := moments(d)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return iv
	}
	iv.Value = mean
	if len(d) < 2 {
		return iv
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1 - alpha/2)
	h := t * math.Sqrt(variance/n)
	iv.Low, iv.High = mean-h, mean+h
	return iv
}

// Mean returns the mean of x, NaN for none.
func Mean(x []float64) float64 {
	mean, _ := moments(x)
	return mean
}

// Variance returns the unbiased variance of x, NaN for fewer than two.
func Variance(x []float64) float64 {
	_, variance := moments(x)
	return variance
}

// moments returns the mean of d and its unbiased variance, NaN where there are
// too few values for them.
func moments(d []float64) (mean, variance float64) {
	n := float64(len(d))
	sum := 0.0
	for _, x := range d {
		sum += x
	}
	mean = sum / n
	// The second sum is 0 but for rounding, which it takes back.
	squares, rest := 0.0, 0.0
	for _, x := range d {
		squares += (x - mean) * (x - mean)
		rest += x - mean
	}
	if len(d) < 2 {
		return mean, math.NaN()
	}
	return mean, max(squares-rest*rest/n, 0) / (n - 1)
}

// Spread returns 1.4826 times the median absolute deviation of d from its median:
// the standard deviation of normal d, but hardly moved by outliers. It is 0 when
// more than half of d are the same, and NaN for none.
func Spread(d []float64) float64 {
	m := Median(d)
	a := make([]float64, len(d))
	for i, x := range d {
		a[i] = math.Abs(x - m)
	}
	return 1.4826 * Median(a)
}
