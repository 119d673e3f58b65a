package stats

import "hostlab/internal/result"

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
