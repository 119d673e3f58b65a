package main

import (
	"math"
	"testing"
)

// The limits are those of scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact").
func TestIntervalIsClopperAndPearsons(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.30849710},
		{10, 10, 0.69150290, 1},
		{5, 20, 0.08657147, 0.49104587},
		{100, 2000, 0.04086427, 0.06048172},
	} {
		low, high := share{c.k, c.n}.interval()
		if math.Abs(low-c.low) > 1e-6 || math.Abs(high-c.high) > 1e-6 {
			t.Errorf("%d of %d: [%.8f, %.8f], want [%.8f, %.8f]", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

func TestTargetIsMissedOnlyBeyondItsError(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		bound float64
		least bool
		want  bool
	}{
		{100, 2000, 0.05, false, false},
		{115, 2000, 0.05, false, false}, // 5.75 %, interval from 4.8 %
		{130, 2000, 0.05, false, true},
		{1890, 2000, 0.95, true, false},
		{1860, 2000, 0.95, true, true},
	} {
		if got := (target{"", share{c.k, c.n}, c.bound, c.least}).missed(); got != c.want {
			t.Errorf("%d of %d against %g: missed %v, want %v", c.k, c.n, c.bound, got, c.want)
		}
	}
}
