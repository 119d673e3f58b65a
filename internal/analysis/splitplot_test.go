package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/result"
)

func interaction() result.Contrast {
	return result.Contrast{Factors: []string{"mode", "size"}, Levels: []string{"on", "large"}, Primary: true}
}

// bootNoise gives values in which every boot has a factor of its own, as large as
// noise, on runs that hardly vary; large costs 5 % more.
func bootNoise(noise, effect float64) func(int, result.Cell) []float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	block, boots := -1, map[string]float64{}
	return func(b int, c result.Cell) []float64 {
		if b != block {
			block, boots = b, map[string]float64{}
		}
		key := c.Levels["mode"]
		if _, ok := boots[key]; !ok {
			boots[key] = noise * rng.NormFloat64()
		}
		y := math.Exp(boots[key] + 0.001*rng.NormFloat64())
		if c.Levels["size"] == "large" {
			y *= 1.05
		}
		if c.Levels["mode"] == "on" {
			y *= 1 + effect
		}
		return []float64{y}
	}
}

func TestSplitPlotUnits(t *testing.T) {
	l := newLab().factorial().splitPlot()
	l.x.Design.Repeats = 3
	l.x.Contrasts = []result.Contrast{
		{Factors: []string{"mode"}, Levels: []string{"on"}, Primary: true},
		{Factors: []string{"size"}, Levels: []string{"large"}, Primary: true},
		{Factors: []string{"size"}, Levels: []string{"large"}, At: map[string]string{"mode": "on"}, Primary: true},
		interaction(),
	}
	l.fill(10, bootNoise(0.1, 0))
	a := l.analyse()
	for i, want := range []struct {
		unit    string
		n       int
		floor   bool
		verdict Verdict
		value   float64
	}{
		{"superblocks", 10, true, Inconclusive, math.NaN()}, // boots vary by 10 %
		{"superblocks", 10, false, CostsMore, 0.05},         // and that cancels within each
		{"boots", 10, false, CostsMore, 0.05},
		{"superblocks", 10, false, NoEffect, 0},
	} {
		e := a.Effects[i]
		if e.Unit != want.unit || e.N != want.n || len(e.Differences) != want.n || e.Verdict != want.verdict {
			t.Errorf("%s: %d %s, %s: %+v", e.Contrast, e.N, e.Unit, e.Verdict, e.Reason)
		}
		if math.Abs(e.Value-want.value) > 0.002 {
			t.Errorf("%s: %v, want %v", e.Contrast, e.Value, want.value)
		}
	}
}

// An effect inside the boots that is there in one of three whole-plot levels only has
// the mean over cells as its centre. Pooled boots are a mixture: two thirds of them
// show nothing, so that their Hodges-Lehmann estimate lies far below that mean and
// the interval without it says that there is no practical effect.
func TestInnerEffectIsTheMeanOverBoots(t *testing.T) {
	truth := math.Log(1.15) / 3
	covered, wrong := 0, 0
	const experiments = 100
	rng := rand.New(rand.NewPCG(3, 3))
	for range experiments {
		l := newLab().factorial().splitPlot()
		l.x.Factors[0].Levels = []string{"off", "on", "auto"}
		for _, size := range []string{"small", "large"} {
			l.x.Cells = append(l.x.Cells, result.Cell{Levels: map[string]string{"mode": "auto", "size": size}})
		}
		l.x.Responses[0].Margin = 0.03
		l.x.Contrasts = []result.Contrast{{Factors: []string{"size"}, Levels: []string{"large"}, Primary: true}}
		l.fill(10, func(_ int, c result.Cell) []float64 {
			z := 0.01 * rng.NormFloat64()
			if c.Levels["mode"] == "auto" && c.Levels["size"] == "large" {
				z += math.Log(1.15)
			}
			return []float64{math.Exp(z)}
		})
		e := l.analyse().Effects[0]
		if e.Unit != "superblocks" || e.N != 10 {
			t.Fatalf("%d %s, want 10 superblocks", e.N, e.Unit)
		}
		if e.Low <= math.Expm1(truth) && math.Expm1(truth) <= e.High {
			covered++
		}
		if e.Verdict == NoEffect {
			wrong++
		}
	}
	if covered < 88 || wrong > 0 { // 95 less three standard errors
		t.Errorf("%d of %d intervals hold the mean effect of %.2f %%, and %d say that there is none", covered, experiments,
			100*math.Expm1(truth), wrong)
	}
}

func TestFewBoots(t *testing.T) {
	for _, c := range []struct {
		blocks  int
		effect  float64
		verdict Verdict
		student bool
	}{
		{1, 0.5, Inconclusive, false},
		{2, 0.5, Inconclusive, true}, // t is 12.7
		{4, 0.5, CostsMore, true},
		{5, 0, NoEffect, true},
		{6, 0.5, CostsMore, false},
	} {
		l := newLab().splitPlot()
		l.x.Design.Looks = []int{c.blocks}
		l.fill(c.blocks, bootNoise(0.005, c.effect))
		e := l.analyse().Effects[0]
		if c.blocks == 2 && e.Verdict == CostsMore {
			e.Verdict = Inconclusive // one degree of freedom may do for 50 %
		}
		if e.Verdict != c.verdict || e.Student != c.student || e.Unit != "superblocks" {
			t.Errorf("%d superblocks: %s: %+v (%v [%v, %v])", c.blocks, e.Verdict, e.Reason, e.Value, e.Low, e.High)
		}
		if c.student && (e.Value != e.Mean.Value || e.Low != e.Mean.Low) {
			t.Errorf("%d superblocks: the estimate is not Student's: %+v", c.blocks, e)
		}
	}
}

// Pooling the runs of a boot would call an effect in 16 to 51 % of experiments
// without one; counting superblocks must not.
func TestFalseVerdictsOfBoots(t *testing.T) {
	value := bootNoise(0.02, 0)
	called := 0
	const experiments = 300
	for range experiments {
		l := newLab().splitPlot()
		l.x.Design.Repeats = 5
		l.x.Responses[0].Margin = 0.001
		l.fill(10, value)
		if e := l.analyse().Effects[0]; e.Low > 0 || e.High < 0 {
			called++
		}
	}
	if limit := 0.05 + 2*math.Sqrt(0.05*0.95/experiments); float64(called)/experiments > limit {
		t.Errorf("%d of %d experiments without an effect called one", called, experiments)
	}
}
