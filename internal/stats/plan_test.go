package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMinBlocks(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 6}, {0.05 / 7, 9}, {0.05 / 28, 11}} {
		got := MinBlocks(c.alpha)
		if got != c.want {
			t.Errorf("MinBlocks(%g) = %d, want %d", c.alpha, got, c.want)
		}
		if signedRankCritical(got, c.alpha) < 0 || signedRankCritical(got-1, c.alpha) >= 0 {
			t.Errorf("MinBlocks(%g) = %d is not the smallest that has an interval", c.alpha, got)
		}
	}
}

func TestSimultaneous(t *testing.T) {
	for _, c := range []struct {
		contrasts, looks int
		want             float64
	}{{1, 1, 0.05}, {7, 4, 0.05 / 28}, {0, 0, 0.05}, {3, 0, 0.05 / 3}} {
		if got := Simultaneous(0.05, c.contrasts, c.looks); !near(got, c.want) {
			t.Errorf("Simultaneous(0.05, %d, %d) = %v, want %v", c.contrasts, c.looks, got, c.want)
		}
	}
}

func TestBlocksNeededAgreesWithScipy(t *testing.T) {
	for _, c := range readGolden(t).BlocksNeeded {
		if got := BlocksNeeded(c.SD, c.Delta, c.Alpha, c.Power); got != c.N {
			t.Errorf("BlocksNeeded(%g, %g, %g, %g) = %d, scipy %d", c.SD, c.Delta, c.Alpha, c.Power, got, c.N)
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		sd, delta, alpha, power float64
		want                    int
	}{
		{nan, 0.02, 0.05, 0.8, 0}, {-1, 0.02, 0.05, 0.8, 0}, {0.02, 0, 0.05, 0.8, 0}, {0.02, nan, 0.05, 0.8, 0},
		{0.02, 0.02, 0, 0.8, 0}, {0.02, 0.02, 0.05, 1, 0}, {math.Inf(1), 1, 0.05, 0.8, maxBlocks}, {0, 1, 0.05, 0.8, 6},
	} {
		if got := BlocksNeeded(c.sd, c.delta, c.alpha, c.power); got != c.want {
			t.Errorf("BlocksNeeded(%g, %g, %g, %g) = %d, want %d", c.sd, c.delta, c.alpha, c.power, got, c.want)
		}
	}
}

// The example of a nested sample: two boots of three runs in each of two
// superblocks, worked out by hand after the formulae of the paper.
func TestComponents(t *testing.T) {
	x := []float64{1, 2, 3, 5, 6, 7, 11, 12, 13, 15, 16, 17}
	// Within boots the variance is 1; boot means 2, 6 | 12, 16 have 8 within each
	// superblock; superblock means 4 and 14 have 50.
	want := []float64{1, 8 - 1.0/3, 50 - 8.0/2}
	if d := cmp.Diff(want, Components(x, 3, 2, 2), cmp.Comparer(near)); d != "" {
		t.Error(d)
	}
	if got := Components(x, 5, 2); got != nil {
		t.Errorf("10 of 12 values: %v", got)
	}
	if got := Components(nil); got != nil {
		t.Errorf("nothing: %v", got)
	}
	if got := Components([]float64{1, 2}, 1, 2); !math.IsNaN(got[0]) {
		t.Errorf("a level that was not repeated has component %v", got[0])
	}
}

func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		name              string
		components, costs []float64
		want              []int
	}{
		{"a boot costs 100 runs and varies as much", []float64{1, 1}, []float64{1, 100}, []int{10}},
		{"three levels", []float64{4, 1, 0.25}, []float64{1, 9, 36}, []int{6, 4}},
		{"rounded up", []float64{1, 1}, []float64{1, 2}, []int{2}},
		{"runs do not vary", []float64{0, 1}, []float64{1, 100}, []int{1}},
		{"runs were not repeated", []float64{math.NaN(), 1}, []float64{1, 100}, []int{1}},
		{"boots do not vary", []float64{1, -0.1}, []float64{1, 100}, []int{0}},
		{"one level", []float64{1}, []float64{1}, []int{}},
		{"a cost too few", []float64{1, 1}, []float64{1}, nil},
		{"no cost", []float64{1, 1}, []float64{0, 1}, nil},
		{"nothing", nil, nil, nil},
	} {
		if d := cmp.Diff(c.want, Repeats(c.components, c.costs)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
