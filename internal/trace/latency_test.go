package trace

import (
	"math"
	"testing"
)

// Quantiles of any value are within 7 % of it, from 128 ns to 8 s.
func TestQuantile(t *testing.T) {
	for b := 1; b < buckets-1; b++ {
		var l Latency
		hist := make([]uint32, buckets)
		hist[b] = 10
		l.add(hist, 10)
		got := l.Quantile(0.5)
		for _, v := range []float64{edge(b), edge(b + 1)} {
			if math.Abs(got/v-1) > 0.07 {
				t.Errorf("class %d: %g for %g", b, got, v)
			}
		}
	}
	var l Latency
	if !math.IsNaN(l.Quantile(0.5)) || !math.IsNaN(l.Mean()) {
		t.Error("none has a quantile")
	}
	hist := make([]uint32, buckets)
	hist[1], hist[100] = 99, 1
	l.add(hist, 1000)
	if l.N != 100 || l.Quantile(0.5) > edge(2) || l.Quantile(0.999) < edge(100) {
		t.Errorf("%+v", l)
	}
}

// One long time among short ones says little of what they sum up to.
func TestBetween(t *testing.T) {
	var l Latency
	hist := make([]uint32, buckets)
	hist[60], hist[150] = 100, 1 // of 21 us, and of 54 ms
	l.add(hist, 0)
	short := (edge(60) + edge(61)) / 2
	sum, spread := l.Between(0, 1e-3)
	if want := 100*short + 1e-3; math.Abs(sum/want-1) > 1e-9 {
		t.Errorf("sum %g, want %g", sum, want)
	}
	if want := math.Hypot(10*short, 1e-3); math.Abs(spread/want-1) > 1e-9 {
		t.Errorf("spread %g, want %g", spread, want)
	}
	if sum, spread = l.Between(short, 1e-3); sum-2*spread > 0 {
		t.Errorf("beyond the short ones lies %g, +- %g", sum, spread)
	}
}
