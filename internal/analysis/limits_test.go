package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
)

// fails puts a failed run before every so manyth run of a level.
func (l *lab) fails(mode string, status result.Status, every int) {
	var runs []result.Run
	n := 0
	for _, run := range l.runs {
		if l.x.Cells[run.Cell].Levels["mode"] == mode {
			if n++; n%every == 0 {
				bad := run
				bad.Status, bad.Reason, bad.Values = status, "it hung", nil
				runs = append(runs, bad)
			}
		}
		runs = append(runs, run)
	}
	l.runs = runs
}

// A level that fails is not the same as one that does not, however fast what is left of
// its runs may be.
func TestFailuresAreAResult(t *testing.T) {
	for _, c := range []struct {
		name          string
		effect        float64
		level         string
		status        result.Status
		every         int
		want          Verdict
		reason, again string
	}{
		{"none", 0, "on", result.Failed, 1000, NoEffect, "within the margin", ""},
		{"the level fails", 0, "on", result.Failed, 3, Inconclusive, "mode on in 6 of 20 runs (30 %", "p < 0.001"},
		{"the baseline fails", 0, "off", result.Failed, 3, Inconclusive, "compared with in 13 of 40 runs (32.5 %", ""},
		{"too often, though not for certain", 0, "on", result.Failed, 9, Inconclusive, "mode on in 2 of 20 runs", ""},
		{"once in 20", 0, "on", result.Failed, 20, NoEffect, "", ""},
		{"fails and costs more", 0.05, "on", result.Failed, 3, CostsMore, "", ""},
		{"fails and costs less", -0.05, "on", result.Failed, 3, Inconclusive, "do not stand", ""},
		{"the baseline fails, and the level costs more", 0.05, "off", result.Failed, 3, Inconclusive, "do not stand", ""},
		{"void more often", 0, "on", result.Void, 3, Inconclusive, "Guards void 6 of 20 first tries", ""},
	} {
		l := newLab().fill(20, noisy(3, 0.002, c.effect))
		l.fails(c.level, c.status, c.every)
		a := l.ended("looks")
		e := a.Effects[0]
		if e.Verdict != c.want || !strings.Contains(e.Reason, c.reason) || !strings.Contains(e.Reason, c.again) {
			t.Errorf("%s: %s: %s; want %s with %q and %q", c.name, e.Verdict, e.Reason, c.want, c.reason, c.again)
		}
		limited := c.want == Inconclusive || c.name == "fails and costs more"
		if slices.Contains(e.Limits, Survivors) != limited || (e.Failing != nil) != limited {
			t.Errorf("%s: limits %v, failing %v", c.name, e.Limits, e.Failing)
		}
		if often := strings.Contains(a.Failing(), "it hung") || a.Failing() != ""; often != (c.status == result.Failed && c.every < 20) {
			t.Errorf("%s: %q", c.name, a.Failing())
		}
	}
}

// ticked has a clock with steps.
func ticked(seed uint64, noise, effect, tick float64) func(int, result.Cell) []float64 {
	value := noisy(seed, noise, effect)
	return func(b int, c result.Cell) []float64 {
		return []float64{math.Round(value(b, c)[0]/tick) * tick}
	}
}

func TestCoarseValuesDecideNothingSmall(t *testing.T) {
	for _, c := range []struct {
		name        string
		noise, tick float64
		effect      float64
		unit        string
		want        Verdict
		reason      string
		limit       bool
	}{
		{"fine", 0.005, 1e-4, 0, "s", NoEffect, "", false},
		{"ticks of 10 %, and 3 % more", 0.01, 0.3, 0.03, "s", Inconclusive, "wall come", true},
		{"ticks of 1 % without noise", 0.0005, 0.03, 0.005, "s", Inconclusive, "one and the same number", true},
		{"one value", 0, 1e-3, 0, "s", Inconclusive, "all values of wall are the same", true},
		{"an effect of one step", 0.001, 0.31, 0.1, "s", Inconclusive, "steps of 310 ms", true},
		{"an effect of ten steps", 0.001, 0.3, 1, "s", CostsMore, "", true},
		{"bytes", 0, 1, 0, "B", NoEffect, "", false},
	} {
		l := newLab().fill(20, ticked(3, c.noise, c.effect, c.tick))
		l.x.Responses[0].Unit = c.unit
		e := l.ended("looks").Effects[0]
		text := strings.ToLower(e.Reason)
		if e.Verdict != c.want || !strings.Contains(text, c.reason) || slices.Contains(e.Limits, Coarse) != c.limit {
			t.Errorf("%s: %s: %s %v; want %s with %q", c.name, e.Verdict, e.Reason, e.Limits, c.want, c.reason)
		}
	}
}

// Rare slow runs leave the middle where it is: the mean says what they cost.
func TestStallsForbidNoEffect(t *testing.T) {
	value, n := noisy(3, 0.002, 0), 0
	l := newLab().fill(20, func(b int, c result.Cell) []float64 {
		y := value(b, c)
		if c.Levels["mode"] == "on" {
			if n++; n == 7 {
				y[0] *= 10
			}
		}
		return y
	})
	e := l.ended("looks").Effects[0]
	if e.Verdict != Inconclusive || !slices.Equal(e.Limits, []Limit{Tail}) || !strings.Contains(e.Reason, "the mean is not: it is +12.") {
		t.Errorf("%s: %s %v", e.Verdict, e.Reason, e.Limits)
	}
	if !(e.Low > -0.02 && e.High < 0.02) {
		t.Errorf("the middle is %v to %v", e.Low, e.High)
	}
}

// 0 is a value: it is compared by difference, with the margin in the response's unit.
func TestZerosAreValues(t *testing.T) {
	with := func(at func(b int, c result.Cell, v float64) float64) Effect {
		rng := rand.New(rand.NewPCG(5, 6))
		l := newLab().fill(20, func(b int, c result.Cell) []float64 { return []float64{at(b, c, 5+0.02*rng.NormFloat64())} })
		a := l.ended("looks")
		if a.Blocks != 20 || a.Effects[0].N != 20 || !hasWarning(a.Warnings, "of which there is no ratio: it is compared as a difference, in s") {
			t.Errorf("%d blocks, n %d: %q", a.Blocks, a.Effects[0].N, a.Warnings)
		}
		return a.Effects[0]
	}
	on := func(c result.Cell) bool { return c.Levels["mode"] == "on" }
	e := with(func(b int, c result.Cell, v float64) float64 {
		if on(c) && b%4 != 1 {
			return 0
		}
		return v
	})
	if e.Verdict != CostsLess || e.Response.Compare != result.Difference || math.Abs(e.Response.Margin-0.1) > 0.001 || math.Abs(e.Value+5) > 0.1 {
		t.Errorf("mostly 0: %s: %s, %v with margin %v", e.Verdict, e.Reason, e.Value, e.Response.Margin)
	}
	e = with(func(b int, c result.Cell, v float64) float64 {
		if !on(c) {
			return 0
		}
		return v
	})
	if e.Verdict != Inconclusive || !strings.Contains(e.Reason, "median of 0 is no margin") {
		t.Errorf("a baseline of 0: %s: %s", e.Verdict, e.Reason)
	}
}

// An effect that changes with time is said to, with the hours that were seen.
func TestTrendIsSaid(t *testing.T) {
	l := newLab().fill(20, func() func(int, result.Cell) []float64 {
		value := noisy(3, 0.002, 0)
		return func(b int, c result.Cell) []float64 {
			y := value(b, c)
			if c.Levels["mode"] == "on" {
				y[0] *= math.Exp(0.1 * (float64(b)/19 - 0.5))
			}
			return y
		}
	}())
	for i := range l.runs {
		l.runs[i].Start = started.Add(time.Duration(i) * 3 * time.Minute)
	}
	a := l.ended("looks")
	if !hasWarning(a.Effects[0].Warnings, "the effect rises with time (p < 0.001)") || !hasWarning(a.Effects[0].Warnings, "from 2026-03-01 12:00 to 14:57 UTC, in 3 of the day's 24 hours") {
		t.Errorf("%q", a.Effects[0].Warnings)
	}
	if a.Hours != 3 || !a.First.Equal(started) {
		t.Errorf("%d hours from %s", a.Hours, a.First)
	}
	if steady := newLab().fill(20, noisy(3, 0.002, 0.05)).ended("looks").Effects[0]; hasWarning(steady.Warnings, "with time") {
		t.Errorf("steady: %q", steady.Warnings)
	}
}

// A slope that is small so far, and not by the end of the plan, forbids "no practical effect"
// before that end, and there no more.
func TestSlopeForbidsAnEarlyEnd(t *testing.T) {
	rising := about(0.005, 0.006, 10)
	uneven := slices.Clone(rising)
	for i := range uneven {
		uneven[i] = rising[i*7%10] // in another order, without a slope to speak of
	}
	for name, c := range map[string]struct {
		d       []float64
		planned int
		want    Verdict
	}{
		"rising, a third of the plan": {rising, 30, Inconclusive},
		"rising, all of the plan":     {rising, 10, NoEffect},
		"uneven, a third of the plan": {uneven, 30, NoEffect},
	} {
		l := newLab().fill(10, exactly(c.d, about(0, 0.0001, 10)))
		for len(l.x.Blocks) < c.planned {
			l.x.Blocks = append(l.x.Blocks, l.plan())
		}
		a := Analyse(l.x, l.runs, nil)
		e := a.Effects[0]
		if e.Verdict != c.want || slices.Contains(e.Limits, Early) != (c.want == Inconclusive) || a.Decided() != (c.want == NoEffect) {
			t.Errorf("%s: %s: %s %v", name, e.Verdict, e.Reason, e.Limits)
		}
		if c.want == Inconclusive && (e.Need != 30 || !strings.Contains(e.Reason, "goes on to +1.8") || !strings.Contains(e.Reason, "in the mean of the plan's 30 blocks")) {
			t.Errorf("%s: %d blocks needed: %s", name, e.Need, e.Reason)
		}
	}
}
