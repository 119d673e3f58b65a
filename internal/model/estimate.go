package model

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// estimate is the mean of independent replications with its t-interval.
func estimate(x []float64, level float64) Estimate {
	n := len(x)
	if n == 0 {
		return Estimate{Mean: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	if n == 1 {
		return Estimate{Mean: x[0], Low: math.NaN(), High: math.NaN(), N: 1}
	}
	mean, sd := stat.MeanStdDev(x, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - (1-level)/2)
	half := t * sd / math.Sqrt(float64(n))
	return Estimate{Mean: mean, Low: mean - half, High: mean + half, N: n}
}

// pairedRatio is the geometric mean of a/b over paired replications with the
// t-interval of the log ratio. Pairs with a value that is not positive are left
// out, and N says how many were left.
func pairedRatio(a, b []float64, level float64) Estimate {
	var d []float64
	for i := range min(len(a), len(b)) {
		if l := math.Log(a[i] / b[i]); !math.IsNaN(l) && !math.IsInf(l, 0) {
			d = append(d, l)
		}
	}
	e := estimate(d, level)
	return Estimate{Mean: math.Exp(e.Mean), Low: math.Exp(e.Low), High: math.Exp(e.High), N: e.N}
}

// halfWidth is relative to the mean; infinite without an interval.
func (e Estimate) halfWidth() float64 {
	if e.N < 2 || e.Mean == 0 || math.IsNaN(e.Low) {
		return math.Inf(1)
	}
	return (e.High - e.Low) / 2 / math.Abs(e.Mean)
}
