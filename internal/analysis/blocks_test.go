package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

func (l *lab) randomised() *lab {
	l.x.Design.Test, l.x.Design.Looks = result.Randomisation, []int{6, 8, 10, 14, 20, 30}
	return l
}

// seen leaves only the runs of the first blocks.
func (l *lab) seen(blocks int) *lab {
	l.runs = l.runs[:blocks*len(l.x.Cells)]
	return l
}

// The record says which test it is judged by. Without a word it is signed ranks of one baseline.
func TestTheRecordNamesItsTest(t *testing.T) {
	old := newLab().fill(10, noisy(1, 0.02, 0.05))
	e := old.analyse().Effects[0]
	var d []float64
	for b := range 10 {
		v := func(c int) float64 { return math.Log(old.runs[3*b+c].Values["wall"]) }
		d = append(d, v(1)-v(0))
	}
	want := stats.HodgesLehmann(d, 0.05)
	if !near(e.Low, math.Expm1(want.Low)) || !near(e.High, math.Expm1(want.High)) {
		t.Errorf("old: %v, expected %v on logarithms", e.Estimate, want)
	}
	// After 6 blocks, of 30, an effect is called; of signed ranks there is no interval yet.
	now := newLab().randomised().fill(30, noisy(1, 0.02, 0.1)).seen(6).analyse().Effects[0]
	if now.Verdict != CostsMore || now.N != 6 || now.Value < 0.07 || now.Value > 0.13 {
		t.Errorf("%s, %v", now.Verdict, now.Estimate)
	}
	// A factor's level that is a mean of cells has signed ranks under either name.
	two := newLab().factorial().fill(12, noisy(2, 0.02, 0.05))
	before := two.ended("looks").Effects[0]
	two.x.Design.Test = result.Randomisation
	if after := two.ended("looks").Effects[0]; after.Estimate != before.Estimate {
		t.Errorf("%v by signed ranks, %v by name of the other test", before.Estimate, after.Estimate)
	}
}

// "No practical effect" waits for 10 blocks, unless the plan has fewer.
func TestNoEffectWaits(t *testing.T) {
	for _, c := range []struct {
		planned, done int
		want          Verdict
		why           Why
	}{{30, 8, Inconclusive, TooEarly}, {30, 10, NoEffect, Shown}, {8, 8, NoEffect, Shown}} {
		l := newLab().randomised()
		e := l.fill(c.planned, noisy(3, 0.001, 0)).seen(c.done).analyse().Effects[0]
		if e.Verdict != c.want || e.Reason.Kind != c.why {
			t.Errorf("%d of %d blocks: %s, %s", c.done, c.planned, e.Verdict, e.Reason.Kind)
		}
	}
}

// A ramp from -5 to +5 % in 30 blocks is no effect after 10 of them, where the plan goes on, in either
// direction. Records of signed ranks keep the effect that they called.
func TestSlopeForbidsAnEarlyEffect(t *testing.T) {
	for name, c := range map[string]struct {
		d       []float64
		test    result.Test
		planned int
		want    Verdict
	}{
		"a ramp":                  {about(-0.035, 0.015, 10), result.Randomisation, 30, Inconclusive},
		"a ramp, downwards":       {about(0.035, -0.015, 10), result.Randomisation, 30, Inconclusive},
		"a ramp away from 0":      {about(-0.035, -0.015, 10), result.Randomisation, 30, CostsLess},
		"a ramp, all of the plan": {about(-0.035, 0.01, 10), result.Randomisation, 10, CostsLess},
		"steady":                  {about(-0.035, 0.001, 10), result.Randomisation, 30, CostsLess},
		"an old record":           {about(-0.035, 0.01, 10), "", 30, CostsLess},
	} {
		l := newLab().fill(10, exactly(c.d, about(0, 0.001, 10)))
		l.x.Design.Test, l.x.Design.Looks = c.test, []int{10, 30}
		for len(l.x.Blocks) < c.planned {
			l.x.Blocks = append(l.x.Blocks, l.plan())
		}
		e := Analyse(l.x, l.runs, nil).Effects[0]
		if e.Verdict != c.want || slices.Contains(e.Limits, Early) != (c.want == Inconclusive) {
			t.Errorf("%s: %s, %v: %v ahead, limits %v", name, e.Verdict, e.Estimate, e.Ahead, e.Limits)
		}
		if c.want == Inconclusive && (e.Need != 30 || math.Abs(e.Ahead) > 0.005) {
			t.Errorf("%s: %d blocks needed, %v ahead", name, e.Need, e.Ahead)
		}
	}
}

// taking gives each run steal, of which the values hold a multiple; level adds to it at "on".
func (l *lab) taking(seed uint64, level float64) *lab {
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range l.runs {
		steal := 0.1 + 0.02*rng.Float64()
		if l.x.Cells[l.runs[i].Cell].Levels["mode"] == "on" {
			steal += level
		}
		l.runs[i].Conditions = map[string]float64{"steal": steal}
		l.runs[i].Values["wall"] *= math.Exp(5 * steal)
	}
	return l
}

func TestOthersAreTakenOut(t *testing.T) {
	make := func(level float64, adjust bool) Effect {
		l := newLab().randomised().fill(20, noisy(4, 0.01, 0.05)).taking(5, level)
		l.x.Design.Adjust = adjust
		return l.analyse().Effects[0]
	}
	plain, adjusted := make(0, false), make(0, true)
	if plain.Adjusted != nil || adjusted.Adjusted == nil || adjusted.Adjusted.Moved || adjusted.Adjusted.Explained < 0.5 {
		t.Fatalf("%+v, %+v", plain.Adjusted, adjusted.Adjusted)
	}
	if !adjusted.Contains(0.05) || adjusted.High-adjusted.Low > 0.7*(plain.High-plain.Low) || adjusted.Mean.High-adjusted.Mean.Low > 0.7*(plain.Mean.High-plain.Mean.Low) {
		t.Errorf("%v adjusted, %v not", adjusted.Estimate, plain.Estimate)
	}
	// What the level itself takes is an effect of it: the interval holds both answers.
	plain, adjusted = make(0.02, false), make(0.02, true)
	if !adjusted.Adjusted.Moved || adjusted.Value != plain.Value || adjusted.Low > 0.05 || adjusted.High != plain.High {
		t.Errorf("moved: %v adjusted, %v not", adjusted.Estimate, plain.Estimate)
	}
	// A run that does not know ends the adjustment, with a word.
	l := newLab().randomised().fill(20, noisy(4, 0.01, 0.05)).taking(5, 0)
	l.x.Design.Adjust, l.runs[7].Conditions = true, nil
	if a := l.analyse(); a.Effects[0].Adjusted != nil || !hasWarning(a.Warnings, "nothing is adjusted") {
		t.Errorf("%+v, %q", a.Effects[0].Adjusted, a.Warnings)
	}
}

// The plan finds more than it needs to find at the end: with twice the scatter, twice as far from the margin.
func TestFinds(t *testing.T) {
	finds := func(noise float64) float64 {
		return math.Log1p(newLab().randomised().fill(30, noisy(6, noise, 0)).analyse().Effects[0].Finds) - math.Log1p(0.02)
	}
	if one, two := finds(0.01), finds(0.02); !(one > 0) || math.Abs(two/one-2) > 1e-6 {
		t.Errorf("%v and %v beyond the margin", one, two)
	}
	if e := newLab().splitPlot().fill(4, noisy(6, 0.01, 0)).analyse().Effects[0]; !math.IsNaN(e.Finds) {
		t.Errorf("Student's, of 4: %v", e.Finds)
	}
}
