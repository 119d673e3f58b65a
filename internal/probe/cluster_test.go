package probe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// TestClusterQuantileCovers draws commits whose rounds differ and resemble those
// before them, as they do on a shared device, and counts how often the interval
// holds the true quantile. One that takes commits for independent holds the median
// in about a third of the cases.
func TestClusterQuantileCovers(t *testing.T) {
	for _, c := range []struct {
		q, rho, shift float64
		rounds, block int
		least         float64
	}{
		{0.5, 0, 0.1, 50, 50, 0.93}, {0.5, 0.5, 0.1, 50, 50, 0.93}, {0.5, 0.8, 0.1, 50, 50, 0.90},
		{0.5, 0.3, 0.1, 12, 10, 0.90},
		{0.99, 0, 0.01, 50, 50, 0.93}, {0.99, 0.5, 0.02, 50, 50, 0.90}, {0.99, 0.5, 0.1, 50, 50, 0.90},
		{0.99, 0.5, 0.1, 8, 100, 0.90},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		trials := testkit.Times(500, 200)
		truth := math.Exp(math.Sqrt(0.01+c.shift*c.shift) * math.Sqrt2 * math.Erfinv(2*c.q-1))
		covered, naive, known := 0, 0, 0
		for range trials {
			rounds := make([][]float64, c.rounds)
			shift := rng.NormFloat64()
			for i := range rounds {
				shift = c.rho*shift + math.Sqrt(1-c.rho*c.rho)*rng.NormFloat64()
				for range c.block {
					rounds[i] = append(rounds[i], math.Exp(c.shift*shift+0.1*rng.NormFloat64()))
				}
			}
			all := slices.Sorted(slices.Values(slices.Concat(rounds...)))
			if e := clusterQuantile(rounds, all, c.q, 0.05); e.HasInterval() {
				known++
				if e.Contains(truth) {
					covered++
				}
			}
			if stats.QuantileInterval(all, c.q, 0.05).Contains(truth) {
				naive++
			}
		}
		share := float64(covered) / float64(max(1, known))
		t.Logf("q %g rho %g, %d rounds of %d: interval known in %d, holds the quantile in %.1f %%; naive %d", c.q, c.rho,
			c.rounds, c.block, known, 100*share, naive)
		if known > 0 && share < c.least {
			t.Errorf("q %g, rho %g, %d rounds of %d: the interval holds the quantile in %.1f %%", c.q, c.rho, c.rounds,
				c.block, 100*share)
		}
		if c.q == 0.5 && c.rho <= 0.5 && known < trials*6/10 {
			t.Errorf("rho %g: the median has no interval in %d of %d trials", c.rho, trials-known, trials)
		}
		if c.q == 0.5 && c.block == 50 && naive > trials*6/10 {
			t.Errorf("rho %g: the naive interval holds it in %d of %d: these rounds do not differ enough to test anything",
				c.rho, naive, trials)
		}
	}
}

// likeRounds draws commits as TestClusterQuantileCovers does; those of the last third
// take last times as long.
func likeRounds(rng *rand.Rand, n int, rho, shift, last float64) [][]float64 {
	rounds := make([][]float64, n)
	at := rng.NormFloat64()
	for i := range rounds {
		at = rho*at + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		scale := 1.0
		if i >= n-n/3 {
			scale = last
		}
		for range 50 {
			rounds[i] = append(rounds[i], scale*math.Exp(shift*at+0.1*rng.NormFloat64()))
		}
	}
	return rounds
}

// The interval of the mean holds it, and thirds of rounds that are independent seldom drift.
// Where rounds resemble those before them, a device does change between thirds.
func TestMeanAndDrift(t *testing.T) {
	const trials = 500
	for _, c := range []struct{ rho, least, wrong float64 }{{0, 0.93, 0.08}, {0.5, 0.91, 0.15}, {0.8, 0.88, 0.20}} {
		rng := rand.New(rand.NewPCG(5, 6))
		truth := math.Exp((0.1*0.1 + 0.1*0.1) / 2)
		covered, known, wrong, seen := 0, 0, 0, 0
		for range trials {
			rounds := likeRounds(rng, 50, c.rho, 0.1, 1)
			if e := clusterMean(rounds, 0.05); e.HasInterval() {
				known++
				if e.Contains(truth) {
					covered++
				}
			}
			if drift(rounds, "", result.Labels{}, 0.05).Labels.Drift {
				wrong++
			}
			if drift(likeRounds(rng, 50, c.rho, 0.1, 1.5), "", result.Labels{}, 0.05).Labels.Drift {
				seen++
			}
		}
		t.Logf("rho %g: the mean's interval holds it in %d of %d, drift wrongly said in %d and a drift of 1.5 in %d of %d",
			c.rho, covered, known, wrong, seen, trials)
		if float64(covered) < c.least*float64(known) || known < trials*9/10 {
			t.Errorf("rho %g: the interval holds the mean in %d of %d", c.rho, covered, known)
		}
		if float64(wrong) > c.wrong*trials || seen < trials*8/10 {
			t.Errorf("rho %g: drift wrongly said in %d, rightly in %d of %d", c.rho, wrong, seen, trials)
		}
	}
}
