package workload

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

func TestFill(t *testing.T) {
	for _, c := range []struct {
		n       int
		missing []string
	}{{0, []string{"max", "mean", "p50", "p95", "p99"}}, {1, []string{"p95", "p99"}}, {199, []string{"p95", "p99"}},
		{200, []string{"p99"}}, {999, []string{"p99"}}, {1000, nil}} {
		var s Sample
		var times []float64
		for i := range c.n {
			times = append(times, float64(i+1)*1e-3)
		}
		FillLatency(&s, "commit", times)
		for _, r := range LatencyResponses("commit") {
			_, value := s.Values[r.Name]
			missing := s.Missing[r.Name] != ""
			want := false
			for _, m := range c.missing {
				want = want || m == r.Name
			}
			if value == missing || missing != want {
				t.Errorf("%d operations: %s value %v, missing %v", c.n, r.Name, value, missing)
			}
		}
		if s.Operations != int64(c.n) || (s.Latency == nil) != (c.n == 0) {
			t.Errorf("%d operations: %+v", c.n, s)
		}
		if c.n == 1000 {
			for name, want := range map[string]float64{"p50": 0.5005, "p95": 0.95005, "p99": 0.99001, "mean": 0.5005, "max": 1} {
				if math.Abs(s.Values[name]-want) > 1e-9 {
					t.Errorf("%s = %v, want %v", name, s.Values[name], want)
				}
			}
		}
	}
}

func TestDistribution(t *testing.T) {
	d := Distribution("x", []float64{0, 1e-3, 1.01e-3, 0.5, 0.5})
	sum := 0
	for i, n := range d.Count {
		sum += n
		if n > 0 && i > 0 && !(d.Edge[i] > d.Edge[i-1]) {
			t.Error("edges do not rise")
		}
	}
	if sum != 5 || d.Edge[len(d.Edge)-1] < 0.5 || d.Count[len(d.Count)-1] != 2 {
		t.Errorf("%+v", d)
	}
	if Distribution("x", []float64{0}) != nil {
		t.Error("times of 0 have classes")
	}
}

func TestArrivals(t *testing.T) {
	start := time.Unix(1000, 0)
	gaps := func(a *Arrivals) (out []float64) {
		last := start
		for range 5000 {
			next := a.Next()
			out = append(out, next.Sub(last).Seconds())
			last = next
		}
		return out
	}
	for _, g := range gaps(Even(start, 100)) {
		if g != 0.01 {
			t.Fatalf("even arrivals, %v apart", g)
		}
	}
	a, b := gaps(Poisson(start, 100, 3)), gaps(Poisson(start, 100, 3))
	testkit.Is(t, "", cmp.Diff(a, b), "the same seed gave other gaps")
	if cmp.Equal(a, gaps(Poisson(start, 100, 4))) {
		t.Error("another seed gave the same gaps")
	}
	var sum, long float64
	for _, g := range a {
		sum += g
		if g > 0.01 {
			long++
		}
	}
	// Exponential: the mean is 10 ms, and exp(-1) of the gaps are longer than that.
	if mean, share := sum/5000, long/5000; math.Abs(mean-0.01) > 0.0006 || math.Abs(share-math.Exp(-1)) > 0.03 {
		t.Errorf("gaps of %.4f s on average, %.3f longer than 10 ms", mean, share)
	}
}
