package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"hostlab/internal/testkit"
)

// testdata/pool.py wrote what statsmodels makes of the same effects.
func TestPoolGolden(t *testing.T) {
	text := testkit.Must(os.ReadFile("testdata/pool.json"))(t)
	var cases []struct {
		Effects, Variances           []float64
		Tau2, Mean, Low, High, Q, I2 float64
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 10 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for i, c := range cases {
		p := testkit.Must(Pool(c.Effects, c.Variances, 0.05))(t)
		for name, pair := range map[string][2]float64{"tau2": {p.Tau * p.Tau, c.Tau2}, "mean": {p.Mean, c.Mean}, "low": {p.Low, c.Low}, "high": {p.High, c.High},
			"Q": {p.Q, c.Q}, "I2": {p.Share, max(0, c.I2)}} {
			if math.Abs(pair[0]-pair[1]) > 1e-6*max(1, math.Abs(pair[1])) {
				t.Errorf("case %d, K %d, %s: %v, and statsmodels has %v", i, p.K, name, pair[0], pair[1])
			}
		}
	}
}

// The intervals hold the mean, and the effect on the next host, as often as they say.
func TestPoolCoverage(t *testing.T) {
	const truth = 0.03
	trials := testkit.Times(6000, 1500)
	off := 2 * math.Sqrt(0.05*0.95/float64(trials)) // of the simulation
	for _, k := range []int{5, 10, 30} {
		for _, tau := range []float64{0, 0.02, 0.05} {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(1000*tau)))
			mean, next := 0.0, 0.0
			effects, variances := make([]float64, k), make([]float64, k)
			for range trials {
				for i := range effects {
					sd := 0.007 + 0.006*rng.Float64()
					variances[i] = sd * sd
					effects[i] = truth + tau*rng.NormFloat64() + sd*rng.NormFloat64()
				}
				p := testkit.Must(Pool(effects, variances, 0.05))(t)
				if p.Low <= truth && truth <= p.High {
					mean += 1 / float64(trials)
				}
				if v := truth + tau*rng.NormFloat64(); p.NextLow <= v && v <= p.NextHigh {
					next += 1 / float64(trials)
				}
			}
			t.Logf("K %d, tau %v: mean %.3f, next host %.3f", k, tau, mean, next)
			if min(mean, next) < 0.93-off || max(mean, next) > 0.97+off {
				t.Errorf("K %d, tau %v: the intervals hold the mean in %.3f of the cases and the next host in %.3f", k, tau, mean, next)
			}
		}
	}
}

func TestPoolRefuses(t *testing.T) {
	for _, c := range [][2][]float64{{{1}, {1}}, {{1, 2}, {1}}, {{1, 2}, {1, 0}}, {{1, math.NaN()}, {1, 1}}} {
		testkit.Refused(Pool(c[0], c[1], 0.05))(t, "", c, "is pooled")
	}
	if p, err := Pool([]float64{1, 1}, []float64{1, 1}, 0.05); err != nil || !math.IsNaN(p.NextLow) || p.Share != 0 {
		t.Errorf("two equal effects: %+v, %v", p, err)
	}
}
