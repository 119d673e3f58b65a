package stats

import (
	"math"
	"testing"

	"hostlab/internal/testkit"
)

func TestMinBlocks(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 6}, {0.05 / 7, 9}, {0.05 / 28, 11}} {
		got := MinBlocks(c.alpha)
		testkit.Is(t, c.want, got, "MinBlocks", c.alpha, ") =")
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

// Fewer blocks than an interval takes find nothing, however large it is.
func TestDetectableByFew(t *testing.T) {
	if v := Detectable(1, MinBlocks(0.05)-1, 0.05, 0.8); !math.IsNaN(v) {
		t.Error(v)
	}
	if v := Detectable(1, MinBlocks(0.05), 0.05, 0.8); !(v > 0) {
		t.Error(v)
	}
}
