package model

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"hostlab/internal/result"
)

// estimate is the mean of independent replications with its t-interval.
func estimate(x []float64, level float64, unit string) result.Estimate {
	e := result.Unknown()
	e.N, e.Unit = len(x), unit
	switch len(x) {
	case 0:
		return e
	case 1:
		e.Value = x[0]
		return e
	}
	mean, sd := stat.MeanStdDev(x, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(1 - (1-level)/2)
	half := t * sd / math.Sqrt(float64(len(x)))
	e.Value, e.Low, e.High = mean, mean-half, mean+half
	return e
}

// pairedRatio is the geometric mean of a/b over paired replications with the
// t-interval of the log ratio. Pairs with a value that is not positive are left
// out, and N says how many were left.
func pairedRatio(a, b []float64, level float64) result.Estimate {
	var d []float64
	for i := range min(len(a), len(b)) {
		if l := math.Log(a[i] / b[i]); !math.IsNaN(l) && !math.IsInf(l, 0) {
			d = append(d, l)
		}
	}
	e := estimate(d, level, "ratio")
	e.Value, e.Low, e.High = math.Exp(e.Value), math.Exp(e.Low), math.Exp(e.High)
	return e
}

// halfWidth is relative to the mean; infinite without an interval.
func halfWidth(e result.Estimate) float64 {
	if e.N < 2 || e.Value == 0 || !e.HasInterval() {
		return math.Inf(1)
	}
	return (e.High - e.Low) / 2 / math.Abs(e.Value)
}
