package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

func binsOf(x []float64) []bin {
	var b []bin
	for _, v := range slices.Sorted(slices.Values(x)) {
		b = append(b, bin{v, 1 / float64(len(x))})
	}
	return b
}

// TestBoundsHoldEverySum: whatever order the two are put together in, the median
// of the sums lies between the bounds, and the bounds are not idle.
func TestBoundsHoldEverySum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	write, sync := make([]float64, 201), make([]float64, 201)
	for i := range write {
		write[i], sync[i] = 2+rng.ExpFloat64(), 70+10*rng.ExpFloat64()
	}
	low, high := boundsOfSum(binsOf(write), binsOf(sync))
	within := func(m float64) bool { return low-1e-9 <= m && m <= high+1e-9 }
	if m := medianOfSum(binsOf(write), binsOf(sync)); !within(m) {
		t.Errorf("median %v of the independent sum is not in [%v, %v]", m, low, high)
	}
	for trial := range 200 {
		switch trial {
		case 0:
			slices.Sort(write)
			slices.Sort(sync)
		case 1:
			slices.Reverse(write)
		default:
			rng.Shuffle(len(write), func(i, j int) { write[i], write[j] = write[j], write[i] })
		}
		sum := make([]float64, len(write))
		for i := range sum {
			sum[i] = write[i] + sync[i]
		}
		if m := stats.Median(sum); !within(m) {
			t.Fatalf("median %v is not in [%v, %v]", m, low, high)
		}
	}
	if high-low > 10 {
		t.Errorf("bounds [%v, %v] say nothing", low, high)
	}
}

func TestParseFio(t *testing.T) {
	run := testkit.Must(parseFio([]byte(`{"jobs":[{"write":{"clat_ns":{"mean":2000,"N":4,"bins":{"2000":4}}},
		"sync":{"lat_ns":{"mean":80000,"N":4,"bins":{"90000":1,"70000":1,"80000":2}}}}]}`)))(t)
	const eps = 1e-12
	if d := run.p50 - 82e-6; d > eps || d < -eps || run.low > run.p50 || run.high < run.p50 {
		t.Errorf("%+v", run)
	}
	if d := run.mean - 82e-6; d > eps || d < -eps {
		t.Errorf("mean %v", run.mean)
	}
	for _, bad := range []string{``, `{}`, `{"jobs":[{}]}`, `{"jobs":[{"write":{"clat_ns":{"bins":{"x":1}}}}]}`} {
		if _, err := parseFio([]byte(bad)); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}
