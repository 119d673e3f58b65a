package analysis

import (
	"fmt"
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
		name   string
		effect float64
		level  string
		status result.Status
		every  int
		want   Verdict
		failed string // of the level, and of the baseline
	}{
		{"none", 0, "on", result.Failed, 1000, NoEffect, ""},
		{"the level fails", 0, "on", result.Failed, 3, Inconclusive, "6/20 0/20"},
		{"the baseline fails", 0, "off", result.Failed, 3, Inconclusive, "0/20 6/20"},
		{"too often, though not for certain", 0, "on", result.Failed, 9, Inconclusive, "2/20 0/20"},
		{"once in 20", 0, "on", result.Failed, 20, NoEffect, ""},
		{"fails and costs more", 0.05, "on", result.Failed, 3, CostsMore, ""},
		{"fails and costs less", -0.05, "on", result.Failed, 3, Inconclusive, ""},
		{"the baseline fails, and the level costs more", 0.05, "off", result.Failed, 3, Inconclusive, ""},
		{"void more often", 0, "on", result.Void, 3, Inconclusive, "void 6/20"},
	} {
		l := newLab().fill(20, noisy(3, 0.002, c.effect))
		l.fails(c.level, c.status, c.every)
		a := l.ended("looks")
		e := a.Effects[0]
		got := ""
		if f := e.Failing; f != nil {
			got = fmt.Sprintf("%d/%d %d/%d, void %d/%d", f.Level.Failed, f.Level.Runs, f.Base.Failed, f.Base.Runs,
				f.Level.Void, f.Level.Tried)
			if differ := c.status == result.Failed; f.Differ() != differ || c.every == 3 && f.Failed >= 0.05 && differ {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if e.Verdict != c.want || !strings.Contains(got, c.failed) || (e.Reason.Kind == Limited) != (c.want == Inconclusive) {
			t.Errorf("%s: %s: %+v, %s; want %s with %q", c.name, e.Verdict, e.Reason, got, c.want, c.failed)
		}
		limited := c.want == Inconclusive || c.name == "fails and costs more"
		if slices.Contains(e.Limits, Survivors) != limited || (e.Failing != nil) != limited {
			t.Errorf("%s: limits %v, failing %v", c.name, e.Limits, e.Failing)
		}
		if often := slices.ContainsFunc(a.Failures, Failures.Often); often != (c.status == result.Failed && c.every < 20) {
			t.Errorf("%s: %+v", c.name, a.Failures)
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
		steps       string // size, tied or not
		limit       bool
	}{
		{"fine", 0.005, 1e-4, 0, "s", NoEffect, "", false},
		{"ticks of 10 %, and 3 % more", 0.015, 0.3, 0.03, "s", Inconclusive, "0.3 ", true},
		{"ticks of 1 % without noise", 0.0005, 0.03, 0.005, "s", Inconclusive, "0.03 true", true},
		{"one value", 0, 1e-3, 0, "s", Inconclusive, "0 true", true},
		{"an effect of one step", 0.001, 0.31, 0.1, "s", Inconclusive, "0.31 ", true},
		{"an effect of ten steps", 0.001, 0.3, 1, "s", CostsMore, "", true},
		{"bytes", 0, 1, 0, "B", NoEffect, "", false},
	} {
		l := newLab().fill(20, ticked(3, c.noise, c.effect, c.tick))
		l.x.Responses[0].Unit = c.unit
		e := l.ended("looks").Effects[0]
		got := ""
		if s := e.Steps; s != nil {
			got = fmt.Sprintf("%.2g %v", s.Step, s.Tied > 0)
		}
		if e.Verdict != c.want || !strings.Contains(got, c.steps) || slices.Contains(e.Limits, Coarse) != c.limit {
			t.Errorf("%s: %s: %+v %v %s; want %s with %q", c.name, e.Verdict, e.Reason, e.Limits, got, c.want, c.steps)
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
	if e.Verdict != Inconclusive || !slices.Equal(e.Limits, []Limit{Tail}) || math.Abs(e.Mean.Value-0.45) > 0.01 ||
		e.Reason.Kind != Limited {
		t.Errorf("%s: %+v %v %v", e.Verdict, e.Reason, e.Limits, e.Mean)
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
		if a.Blocks != 20 || a.Effects[0].N != 20 || !hasWarning(a.Warnings,
			"of which there is no ratio: it is compared as a difference, in s") {
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
	if e.Verdict != CostsLess || e.Response.Compare != result.Difference || math.Abs(e.Response.Margin-0.1) > 0.001 ||
		math.Abs(e.Value+5) > 0.1 {
		t.Errorf("mostly 0: %s: %+v, %v with margin %v", e.Verdict, e.Reason, e.Value, e.Response.Margin)
	}
	e = with(func(b int, c result.Cell, v float64) float64 {
		if !on(c) {
			return 0
		}
		return v
	})
	if e.Verdict != Inconclusive || e.Reason.Kind != NoShare {
		t.Errorf("a baseline of 0: %s: %+v", e.Verdict, e.Reason)
	}
}

// The hours that were seen are counted.
func TestHoursSeen(t *testing.T) {
	l := newLab().fill(20, noisy(3, 0.002, 0))
	for i := range l.runs {
		l.runs[i].Start = started.Add(time.Duration(i) * 4 * time.Minute)
	}
	if a := l.ended("looks"); a.Hours != 3 || !a.First.Equal(started) {
		t.Errorf("%d hours from %s", a.Hours, a.First)
	}
}
