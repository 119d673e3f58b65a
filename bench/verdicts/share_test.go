package main

import "testing"

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
		if got := (target{share: share{c.k, c.n}, bound: c.bound, least: c.least}).missed(); got != c.want {
			t.Errorf("%d of %d against %g: missed %v, want %v", c.k, c.n, c.bound, got, c.want)
		}
	}
}
