package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/result"
)

// PairedT estimates the mean of the paired differences d with Student's interval
// at confidence 1-alpha on len(d)-1 degrees of freedom. Unlike HodgesLehmann it
// follows rare stalls, and it has an interval from two differences on. Low and
// High are NaN for fewer; all is NaN for none or where a value is not finite.
func PairedT(d []float64, alpha float64) result.Estimate {
	n := float64(len(d))
	iv := result.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), N: len(d)}
	mean := Mean(d)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return iv
	}
	iv.Value = mean
	if len(d) < 2 {
		return iv
	}
	h := student(n-1, alpha) * math.Sqrt(Variance(d)/n)
	iv.Low, iv.High = mean-h, mean+h
	return iv
}

// Mean returns the mean of x, NaN for none.
func Mean(x []float64) float64 { return stat.Mean(x, nil) }

// Variance returns the unbiased variance of x, NaN for fewer than two. Rounding makes none below 0.
func Variance(x []float64) float64 { return max(stat.Variance(x, nil), 0) }

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

// RatioOfSums is that of x to size over stretches that differ in size, with an interval by
// linearisation (Cochran, Sampling Techniques, 1977, chapter 6).
func RatioOfSums(x, size []float64, alpha float64) result.Estimate {
	var sum, all float64
	for i := range x {
		sum, all = sum+x[i], all+size[i]
	}
	ratio, n := sum/all, float64(len(x))
	d := make([]float64, len(x))
	for i := range x {
		d[i] = ratio + (x[i]-ratio*size[i])*n/all
	}
	e := PairedT(d, alpha)
	e.Value = ratio
	return e
}
