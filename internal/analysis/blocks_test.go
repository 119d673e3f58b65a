package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func (l *lab) looks() *lab {
	l.x.Design.Looks = []int{9, 10, 14, 20, 30}
	return l
}

// seen leaves only the runs of the first blocks.
func (l *lab) seen(blocks int) *lab {
	l.runs = l.runs[:blocks*len(l.x.Cells)]
	return l
}

// "No practical effect" waits for 10 blocks, unless the plan has fewer.
func TestNoEffectWaits(t *testing.T) {
	for _, c := range []struct {
		planned, done int
		want          Verdict
		why           Why
	}{{30, 9, Inconclusive, TooEarly}, {30, 10, NoEffect, Shown}, {9, 9, NoEffect, Shown}} {
		l := newLab().looks()
		e := l.fill(c.planned, noisy(3, 0.001, 0)).seen(c.done).analyse().Effects[0]
		if e.Verdict != c.want || e.Reason.Kind != c.why {
			t.Errorf("%d of %d blocks: %s, %s", c.done, c.planned, e.Verdict, e.Reason.Kind)
		}
	}
}

// turned has every other block in the other order.
func (l *lab) turned() *lab {
	for b := range l.x.Blocks {
		if b%2 > 0 {
			slices.Reverse(l.x.Blocks[b].Plots[0])
		}
	}
	for i := range l.runs {
		if l.runs[i].Block%2 > 0 {
			l.runs[i].Slot = 1 - l.runs[i].Slot
		}
	}
	return l
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
		l := newLab().looks().fill(20, noisy(4, 0.01, 0.05)).turned().taking(5, level)
		l.x.Design.Adjust = adjust
		return l.analyse().Effects[0]
	}
	plain, adjusted := make(0, false), make(0, true)
	if plain.Adjusted != nil || adjusted.Adjusted == nil || adjusted.Adjusted.Moved || adjusted.Adjusted.Explained < 0.5 {
		t.Fatalf("%+v, %+v", plain.Adjusted, adjusted.Adjusted)
	}
	if !adjusted.Contains(0.05) || adjusted.High-adjusted.Low > 0.7*(plain.High-plain.Low) ||
		adjusted.Mean.High-adjusted.Mean.Low > 0.7*(plain.Mean.High-plain.Mean.Low) {
		t.Errorf("%v adjusted, %v not", adjusted.Estimate, plain.Estimate)
	}
	// What the level itself takes is an effect of it: the interval holds both answers.
	plain, adjusted = make(0.01, false), make(0.01, true)
	if !adjusted.Adjusted.Moved || adjusted.Value != plain.Value || adjusted.Low > 0.05 || adjusted.High != plain.High {
		t.Errorf("moved: %v adjusted, %v not", adjusted.Estimate, plain.Estimate)
	}
	// A run that does not know ends the adjustment, with a word.
	l := newLab().looks().fill(20, noisy(4, 0.01, 0.05)).turned().taking(5, 0)
	l.x.Design.Adjust, l.runs[7].Conditions = true, nil
	if a := l.analyse(); a.Effects[0].Adjusted != nil || !hasWarning(a.Warnings, "nothing is adjusted") {
		t.Errorf("%+v, %q", a.Effects[0].Adjusted, a.Warnings)
	}
}

// The plan finds more than it needs to find at the end: with twice the scatter, twice as far from the margin.
func TestFinds(t *testing.T) {
	finds := func(noise float64) float64 {
		return math.Log1p(newLab().looks().fill(30, noisy(6, noise, 0)).analyse().Effects[0].Finds) - math.Log1p(0.02)
	}
	if one, two := finds(0.01), finds(0.02); !(one > 0) || math.Abs(two/one-2) > 1e-6 {
		t.Errorf("%v and %v beyond the margin", one, two)
	}
	// An experiment whose time was spent has no blocks but those that ran.
	if e := newLab().looks().fill(12, noisy(6, 0.01, 0)).ended("budget").Effects[0]; e.Planned != 12 {
		t.Errorf("its time was spent after 12 blocks: %d of the plan", e.Planned)
	}
	if e := newLab().splitPlot().fill(4, noisy(6, 0.01, 0)).analyse().Effects[0]; !math.IsNaN(e.Finds) {
		t.Errorf("Student's, of 4: %v", e.Finds)
	}
}
