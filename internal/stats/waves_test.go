package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/testkit"
)

// hosts of two strata in three waves, with one period less.
func wavedHosts(rng *rand.Rand, effect float64) []Unit {
	waves := [][]int{{1, 1, 2, 2, 3}, {1, 2, 3}}
	drift := []float64{rng.NormFloat64(), rng.NormFloat64()}
	var units []Unit
	for s, list := range waves {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, w := range list {
			u := Unit{Stratum: s, Wave: w, Before: rng.NormFloat64()}
			for p := 1; p <= 2; p++ {
				v := drift[p-1]*float64(s+1) + rng.NormFloat64()
				if w <= p {
					v += effect
				}
				u.After = append(u.After, v)
			}
			units = append(units, u)
		}
	}
	return units
}

// moved takes an effect out of hosts that have the change.
func moved(units []Unit, by float64) []Unit {
	out := make([]Unit, len(units))
	for i, u := range units {
		out[i] = u
		out[i].After = nil
		for p, v := range u.After {
			if u.Wave <= p+1 {
				v -= by
			}
			out[i].After = append(out[i].After, v)
		}
	}
	return out
}

// The limits are those effects which the test, run on the values without them, just refuses.
func TestRolloutInvertsTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		units := wavedHosts(rng, 0.7)
		got := Rollout(units, 0.05, 0, rng)
		if got.Orders != 30*6 {
			t.Fatalf("%g orders", got.Orders)
		}
		if e := Rollout(moved(units, got.Effect.Value), 0.05, 0, rng).Effect.Value; math.Abs(e) > 1e-9 {
			t.Errorf("without the effect it is still %g", e)
		}
		for _, side := range []struct{ at, p float64 }{
			{got.Effect.Low - 1e-6, Rollout(moved(units, got.Effect.Low-1e-6), 0.05, 0, rng).Above},
			{got.Effect.High + 1e-6, Rollout(moved(units, got.Effect.High+1e-6), 0.05, 0, rng).Below}} {
			if side.p > 0.05 {
				t.Errorf("%g is beyond a limit, and p = %g", side.at, side.p)
			}
		}
		if in := Rollout(moved(units, got.Effect.Low+1e-6), 0.05, 0, rng).Above; in <= 0.05 {
			t.Errorf("within the limits p = %g", in)
		}
	}
}

// Four hosts in two waves have 6 orders, four in four 24, six in three 90: no p is below one of them.
func TestRolloutOfFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		waves   []int
		periods int
		orders  float64
	}{{[]int{1, 1, 2, 2}, 1, 6}, {[]int{1, 2, 3, 4}, 3, 24}, {[]int{1, 1, 2, 2, 3, 3}, 2, 90}} {
		var units []Unit
		for _, w := range c.waves {
			u := Unit{Wave: w, After: make([]float64, c.periods)}
			for p := range u.After {
				u.After[p] = 0.001 * rng.NormFloat64()
				if w <= p+1 {
					u.After[p]++
				}
			}
			units = append(units, u)
		}
		got := Rollout(units, 0.05, 0, rng)
		if got.Orders != c.orders || math.Abs(got.Above-1/c.orders) > 1e-12 {
			t.Errorf("%v: %g orders, p = %g", c.waves, got.Orders, got.Above)
		}
		testkit.Is(t, (c.orders >= 20), !math.IsInf(got.Effect.Low, -1), c.waves, "limits", got.Effect)
	}
	if got := Rollout([]Unit{{Wave: 1, After: []float64{1}}, {Stratum: 1, Wave: 2, After: []float64{2}}}, 0.05, 0, rng); got.Effect.Known() {
		t.Errorf("hosts of different strata were compared: %v", got.Effect)
	}
}

// Where orders are drawn, the test keeps its level, and the smallest effect that it is said to show is found that often.
func TestRolloutKeepsItsWord(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	make16 := func(effect float64) []Unit {
		var units []Unit
		for i := range 16 {
			u := Unit{Wave: 1 + i%2, Before: 0.02 * rng.NormFloat64(), After: []float64{0.02 * rng.NormFloat64()}}
			if u.Wave == 1 {
				u.After[0] += effect
			}
			units = append(units, u)
		}
		return units
	}
	smallest := Showable(make16(0), 0.05, 0.02, 0.8, 1, rng)
	const trials = 400
	for _, c := range []struct{ effect, low, high float64 }{{0, 0, 0.09}, {smallest, 0.72, 0.88}} {
		found := 0
		for range trials {
			if Rollout(make16(c.effect), 0.05, 500, rng).Above <= 0.05 {
				found++
			}
		}
		if share := float64(found) / trials; share < c.low || share > c.high {
			t.Errorf("an effect of %g is found in %g", c.effect, share)
		}
	}
}
