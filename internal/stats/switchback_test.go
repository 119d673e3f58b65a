package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// anyPairs draws pairs, with coins of both kinds.
func anyPairs(t *rapid.T) Pairs {
	n := rapid.IntRange(6, 14).Draw(t, "pairs")
	value := rapid.Float64Range(-5, 5)
	p := Pairs{Steps: rapid.SliceOfN(value, n, n).Draw(t, "steps")}
	for i := range n {
		p.Coins = append(p.Coins, float64(2*(rapid.IntRange(0, 1).Draw(t, "coin"))-1))
		if i == 1 {
			p.Coins[1] = -p.Coins[0]
		}
	}
	if rapid.Bool().Draw(t, "drift") {
		p.Drift = rapid.SliceOfN(value, n, n).Draw(t, "drifts")
	}
	return p
}

// refused reports whether the test itself refuses theta, by all orders of all coins; tied is set where values
// are alike, whose ranks the inversion takes otherwise.
func refused(p Pairs, theta, alpha float64) (refused, tied bool) {
	n := len(p.Steps)
	rest := make([]float64, n)
	for i := range rest {
		rest[i] = p.Steps[i] - theta*p.Coins[i]
	}
	rest = p.clear(rest)
	size := make([]float64, n)
	for i, v := range rest {
		size[i] = math.Abs(v)
	}
	ranks := Ranks(size)
	for i := range size {
		tied = tied || size[i] < 1e-9
		for j := range i {
			tied = tied || math.Abs(size[i]-size[j]) < 1e-9
		}
	}
	sum := func(coin func(int) float64) (s float64) {
		for i, v := range rest {
			if v*coin(i) > 0 {
				s += ranks[i] + 1
			}
		}
		return s
	}
	seen := sum(func(i int) float64 { return p.Coins[i] })
	low, high := 0, 0
	for bits := range 1 << n {
		s := sum(func(i int) float64 { return float64(2*(bits>>i&1) - 1) })
		if s <= seen {
			low++
		}
		if s >= seen {
			high++
		}
	}
	return float64(min(low, high))/math.Ldexp(1, n) <= alpha/2, tied
}

// The interval is what the test does not refuse, but for pairs that a line goes through alone.
func TestSwitchbackInvertsTheTest(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		p := anyPairs(t)
		const alpha = 0.1
		iv, effects, explained := Switchback(p, alpha)
		if effects == nil {
			return
		}
		if !(iv.Low <= iv.Value && iv.Value <= iv.High) || explained < 0 || explained > 1 || len(effects) != len(p.Steps) {
			t.Fatalf("%+v, effects %v, explained %v", iv, effects, explained)
		}
		theta := rapid.Float64Range(-12, 12).Draw(t, "theta")
		if math.Abs(theta-iv.Low) < 1e-6 || math.Abs(theta-iv.High) < 1e-6 {
			return
		}
		inside := iv.Contains(theta)
		if r, tied := refused(p, theta, alpha); tied {
			return
		} else if !inside && !r {
			t.Fatalf("%v is not refused and outside of %v", theta, iv)
		} else if p.Drift == nil && inside && r {
			t.Fatalf("%v is refused and within %v", theta, iv)
		}
	})
}

// A constant added to all steps is the second period's own, and the level's effect moves all.
func TestSwitchbackMoves(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		p := anyPairs(t)
		const alpha = 0.1
		iv, effects, _ := Switchback(p, alpha)
		if effects == nil {
			return
		}
		by, slope, order := rapid.Float64Range(-3, 3).Draw(t, "effect"), rapid.Float64Range(-3, 3).Draw(t, "slope"), rapid.Float64Range(-3, 3).Draw(t, "order")
		moved := p
		moved.Steps = nil
		for i, s := range p.Steps {
			s += by*p.Coins[i] + order
			if p.Drift != nil {
				s += slope * p.Drift[i]
			}
			moved.Steps = append(moved.Steps, s)
		}
		got, after, _ := Switchback(moved, alpha)
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-6 }
		if !near(got.Value, iv.Value+by) || !near(got.Low, iv.Low+by) || !near(got.High, iv.High+by) || !near(Mean(after), Mean(effects)+by) {
			t.Fatalf("%+v, moved by %v to %+v", iv, by, got)
		}
	})
}

// Without an effect, no more than alpha of intervals miss it, whatever the noise: here heavy tails, a
// drift of the service, and a covariate that explains most.
func TestSwitchbackCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const n, of, effect, alpha = 20, 2000, 0.05, 0.05
	missed, width, plain, shares := 0, 0.0, 0.0, 0.0
	for range of {
		var p Pairs
		for i := range n {
			c, x := float64(2*r.IntN(2)-1), r.NormFloat64()
			p.Coins, p.Drift = append(p.Coins, c), append(p.Drift, x)
			p.Steps = append(p.Steps, effect*c+0.1*x+0.02+0.03*math.Sin(float64(i)/3)+0.02*r.NormFloat64()/math.Sqrt(r.Float64()))
		}
		iv, _, explained := Switchback(p, alpha)
		if !iv.Contains(effect) {
			missed++
		}
		width, shares = width+iv.High-iv.Low, shares+explained/of
		p.Drift = nil
		iv, _, _ = Switchback(p, alpha)
		plain += iv.High - iv.Low
	}
	if low, high := Share(missed, of, 0.001); high < 0.03 || low > alpha {
		t.Errorf("%d of %d intervals of %v missed the effect", missed, of, 1-alpha)
	}
	if width > 0.8*plain || shares < 0.5 {
		t.Errorf("the covariate leaves %.2f of the width, and explains %.2f", width/plain, shares)
	}
}

func TestSwitchbackOfFew(t *testing.T) {
	for name, p := range map[string]Pairs{
		"none":         {},
		"one":          {Steps: []float64{1}, Coins: []float64{1}},
		"coins alike":  {Steps: []float64{1, 2, 3, 4, 5, 6}, Coins: []float64{1, 1, 1, 1, 1, 1}},
		"not a number": {Steps: []float64{1, math.NaN(), 3}, Coins: []float64{1, -1, 1}},
	} {
		if iv, effects, _ := Switchback(p, 0.1); !math.IsNaN(iv.Value) || effects != nil {
			t.Errorf("%s: %+v, %v", name, iv, effects)
		}
	}
	iv, _, explained := Switchback(Pairs{Steps: []float64{3, -1, 3, -1, 3}, Coins: []float64{1, -1, 1, -1, 1}, Drift: []float64{2, 2, 2, 2, 2}}, 0.1)
	if iv.Value != 2 || iv.Low != 2 || iv.High != 2 || explained != 0 {
		t.Errorf("an effect of 2 without noise: %+v, explained %v", iv, explained)
	}
}
