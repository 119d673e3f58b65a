package analysis

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// Whatever varied and is hidden in an average has to be told.
func TestWarnings(t *testing.T) {
	each := func(f func(run *result.Run, c result.Cell)) func(*lab) {
		return func(l *lab) {
			for i := range l.runs {
				f(&l.runs[i], l.x.Cells[l.runs[i].Cell])
			}
		}
	}
	read := func(f func(run *result.Run, c result.Cell) (before, after string)) func(*lab) {
		return each(func(run *result.Run, c result.Cell) {
			before, after := f(run, c)
			run.Before, run.After = map[string]string{"mode": before}, map[string]string{"mode": after}
		})
	}
	boot := func(f func(run *result.Run) string) func(*lab) {
		return each(func(run *result.Run, _ result.Cell) { run.Boot = f(run) })
	}
	for _, c := range []struct {
		name   string
		change func(*lab)
		want   string // "": none
		n      int    // blocks left; 0: all 10
	}{
		{"nothing", func(*lab) {}, "", 0},
		{"an incomplete block", func(l *lab) { l.runs[4].Status = result.Void }, "1 block is left out", 9},
		{"two incomplete blocks", func(l *lab) {
			l.runs[4].Status, l.runs[0].Status = result.Void, result.Failed
		}, "2 blocks are left out", 8},
		{"a block under way", func(l *lab) { l.runs = l.runs[:28] }, "", 9},
		{"a foreign run", func(l *lab) {
			l.runs = append(l.runs, result.Run{Block: 77, Status: result.OK})
		}, "1 run has no place in the plan", 0},
		{"a run of another cell", func(l *lab) { l.runs[3].Cell = 2 }, "1 run has no place in the plan", 9},
		{"a negative block", func(l *lab) { l.runs[0].Block = -1 }, "1 run has no place", 9},
		{"a run twice", func(l *lab) { l.runs = append(l.runs, l.runs[3]) }, "1 run does not count, because its place", 0},
		{"a missing value", func(l *lab) { l.runs[3].Values = nil }, "wall is missing in 1 run", 9},
		{"contaminated", func(l *lab) {
			l.runs[3].Contaminated, l.runs[5].Contaminated = "the CPUs moved", "busy"
		}, "contaminated, but counted: 2 of 20 runs", 0},
		{"zero", func(l *lab) { l.runs[3].Values["wall"] = 0 }, "wall is 0 in 1 run, of which there is no ratio", 10},
		{"negative", func(l *lab) { l.runs[3].Values["wall"] = -1 }, "wall is negative, and compared as a ratio in 1 run", 9},
		{"a daemon", func(l *lab) {
			l.runs[3].Contaminated, l.runs[3].Warnings = "left a daemon", []string{"left a daemon"}
		}, "contaminated, but counted: 1 of 20 runs, marked by their own workload (the first: left a daemon)", 0},
		{"infinite", func(l *lab) { l.runs[3].Values["wall"] = math.Inf(1) }, "not a finite number in 1 run", 9},
		{"not a number", func(l *lab) { l.runs[3].Values["wall"] = math.NaN() }, "not a finite number in 1 run", 9},
		{"zero as a difference", func(l *lab) {
			l.runs[3].Values["wall"] = 0
			l.x.Responses[0].Compare = result.Difference
		}, "", 0},
		{"a warm-up", func(l *lab) { l.runs = append(l.runs, result.Run{Status: result.WarmUp}) }, "", 0},
		{"a busy level", each(func(run *result.Run, c result.Cell) {
			run.Conditions = map[string]float64{"foreign_cpu": map[string]float64{"on": 0.05, "off": 0.01}[c.Levels["mode"]]}
		}),
			"other processes took 5 % of all CPUs (known in 10 of 10 runs) at mode on and 1 % of all CPUs (known in 10 of 10 runs) at its baseline", 0},
		{"busy everywhere", each(func(run *result.Run, _ result.Cell) {
			run.Conditions = map[string]float64{"foreign_cpu": 0.05}
		}), "", 0},
		{"stolen from the baseline", each(func(run *result.Run, c result.Cell) {
			run.Conditions = map[string]float64{"steal": map[string]float64{"on": 0, "off": 0.1}[c.Levels["mode"]]}
		}),
			"the hypervisor (steal) took 0 % of all CPUs (known in 10 of 10 runs) at mode on and 10 % of all CPUs (known in 10 of 10 runs) at its baseline", 0},
		{"a busy level in few runs", each(func(run *result.Run, c result.Cell) {
			if run.Block < 4 {
				run.Conditions = map[string]float64{"foreign_cpu": map[string]float64{"on": 0.05, "off": 0.01}[c.Levels["mode"]]}
			}
		}), "", 0},
		{"a baseline known in few runs", each(func(run *result.Run, c result.Cell) {
			if run.Block < 4 || c.Levels["mode"] == "on" {
				run.Conditions = map[string]float64{"steal": map[string]float64{"on": 0.05, "off": 0.01}[c.Levels["mode"]]}
			}
		}), "", 0},
		{"a busy level in half of the runs", each(func(run *result.Run, c result.Cell) {
			if run.Block < 5 {
				run.Conditions = map[string]float64{"foreign_cpu": map[string]float64{"on": 0.05, "off": 0.01}[c.Levels["mode"]]}
			}
		}), "known in 5 of 10 runs", 0},
		{"a hot level", each(func(run *result.Run, c result.Cell) {
			run.Conditions = map[string]float64{"throttled": map[string]float64{"on": 2, "off": 0}[c.Levels["mode"]]}
		}), "throttled 20 times (known in 10 of 10 runs) at mode on and 0 times", 0},
		{"changed behind our back", read(func(run *result.Run, c result.Cell) (string, string) {
			if run.Block == 2 && c.Levels["mode"] == "on" {
				return "on", "off"
			}
			return c.Levels["mode"], c.Levels["mode"]
		}), "mode read differently after 1 run than before", 0},
		{"a level that reads in two ways", read(func(run *result.Run, c result.Cell) (string, string) {
			if run.Block == 2 && c.Levels["mode"] == "on" {
				return "1", "1"
			}
			return c.Levels["mode"], c.Levels["mode"]
		}), `mode read 2 different values at level "on" ("1", "on")`, 0},
		{"a level not in force", read(func(*result.Run, result.Cell) (string, string) { return "off", "off" }),
			`mode read "off" at several levels ("off", "on")`, 0},
		{"levels in force", read(func(_ *result.Run, c result.Cell) (string, string) {
			return c.Levels["mode"], c.Levels["mode"]
		}), "", 0},
		{"one boot", boot(func(*result.Run) string { return "a" }), "", 0},
		{"boots between blocks", boot(func(run *result.Run) string {
			return string(rune('a' + run.Block/5))
		}), "", 0},
		{"a boot within a block", boot(func(run *result.Run) string {
			if run.Block > 5 || run.Block == 5 && run.Slot > 0 {
				return "b"
			}
			return "a"
		}), "the host was rebooted within 1 block", 0},
		{"a boot for each plot", func(l *lab) {
			l.splitPlot()
			for i := range l.runs {
				l.runs[i].Boot = string(rune('a' + l.runs[i].Block))
			}
		}, "", 0},
		{"plots of one boot", func(l *lab) {
			l.splitPlot()
			for i := range l.runs {
				l.runs[i].Boot = string(rune('a' + l.runs[i].Block/2))
			}
		}, "5 whole plots share a boot with another", 0},
		{"a plot of two boots", func(l *lab) {
			l.splitPlot()
			for i := range l.runs {
				l.runs[i].Boot = string(rune('a' + (i+1)/2))
			}
		}, "10 whole plots have runs of more than one boot", 0},
		{"plots that a person makes", func(l *lab) {
			l.splitPlot()
			l.x.Factors[0].Change = result.Manual
			for i := range l.runs {
				l.runs[i].Boot = "a"
			}
		}, "", 0},
		{"a warning of runs", each(func(run *result.Run, _ result.Cell) { run.Warnings = []string{"the clock was stepped"} }),
			"20 runs: the clock was stepped", 0},
		{"many warnings of runs", each(func(run *result.Run, _ result.Cell) {
			run.Warnings = []string{string(rune('a' + run.Block))}
		}),
			"7 more warnings of single runs", 0},
		{"stalls", func(l *lab) {
			for _, i := range []int{1, 7} {
				l.runs[i].Values["wall"] *= 3
			}
		}, "stalls", 0},
	} {
		l := newLab().fill(10, noisy(3, 0.001, 0.05))
		c.change(l)
		l.x.Design.Looks = []int{8}
		if len(l.runs) >= 30 {
			l.x.Design.Looks = []int{10}
		}
		var a *Analysis
		if c.name == "a block under way" {
			a = l.analyse()
			a.Warnings = a.Warnings[:0:0]
			for _, w := range l.analyse().Warnings {
				if !hasWarning([]string{w}, "after the look at 8") {
					a.Warnings = append(a.Warnings, w)
				}
			}
			c.n = 8
		} else {
			a = l.ended("budget")
		}
		e := a.Effects[0]
		all := append(append([]string{}, a.Warnings...), e.Warnings...)
		if e.Stalls {
			all = append(all, "stalls")
		}
		if c.want == "" && len(all) > 0 || c.want != "" && !hasWarning(all, c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, all, c.want)
		}
		c.n = cmp.Or(c.n, 10)
		testkit.Is(t, c.n, e.N, c.name, "blocks count")
	}
}

func TestRunsByStatusAndSeconds(t *testing.T) {
	l := newLab().fill(10, noisy(1, 0.01, 0))
	l.runs = append(l.runs, result.Run{Status: result.WarmUp}, result.Run{Status: result.Void},
		result.Run{Status: result.Void})
	for i := range l.runs {
		if l.runs[i].Start.IsZero() {
			l.runs[i].Start = started // of block 0
		}
	}
	a := l.analyse()
	if a.Runs[result.OK] != 20 || a.Runs[result.WarmUp] != 1 || a.Runs[result.Void] != 2 {
		t.Errorf("runs by status: %v", a.Runs)
	}
	if a.Seconds != 20 { // two runs, 10 s from start to start
		t.Errorf("a block takes %v s, want 20", a.Seconds)
	}
	if a := newLab().analyse(); !math.IsNaN(a.Seconds) {
		t.Errorf("a block takes %v s though there is none", a.Seconds)
	}
}

func TestBaselineAndLevel(t *testing.T) {
	l := newLab().fill(11, func(b int, c result.Cell) []float64 {
		if c.Levels["mode"] == "on" {
			return []float64{20 + float64(b)}
		}
		return []float64{10 + float64(b)}
	})
	l.x.Design.Looks = []int{11}
	for _, compare := range []result.Comparison{result.Ratio, result.Difference} {
		l.x.Responses[0].Compare = compare
		if e := l.analyse().Effects[0]; !near(e.Base.Value, 15) || !near(e.Level.Value, 25) {
			t.Errorf("%s: baseline %v, level %v; want 15 and 25", compare, e.Base.Value, e.Level.Value)
		}
	}
	testkit.Is(t, 10, l.analyse().Effects[0].Value, "difference")
}

func TestInteraction(t *testing.T) {
	l := newLab().factorial()
	l.x.Contrasts = []result.Contrast{interaction(), {Factors: []string{"mode"}, Levels: []string{"on"}, Primary: true},
		{Factors: []string{"mode"}, Levels: []string{"on"}, At: map[string]string{"size": "large"}, Primary: true}}
	l.fill(12, func(b int, c result.Cell) []float64 {
		y := 1 + 0.001*float64(b%3)
		if c.Levels["mode"] == "on" {
			y *= 1.1
			if c.Levels["size"] == "large" {
				y *= 1.2
			}
		}
		return []float64{y}
	})
	a := l.analyse()
	for i, want := range []float64{0.2, 1.1*math.Sqrt(1.2) - 1, 0.32} {
		if e := a.Effects[i]; !near(e.Value, want) || e.Verdict != CostsMore {
			t.Errorf("%s: %v (%s), want %v", e.Contrast, e.Value, e.Verdict, want)
		}
	}
	if e := a.Effects[0]; !math.IsNaN(e.Base.Value) || !math.IsNaN(e.Level.Value) {
		t.Errorf("an interaction has no sides, but %v and %v", e.Base.Value, e.Level.Value)
	}
	// A record in which one corner is missing.
	l.x.Cells[3].Levels = map[string]string{"mode": "on", "size": "medium"}
	if e := l.analyse().Effects[0]; e.Verdict != Inconclusive || !math.IsNaN(e.Value) {
		t.Errorf("without a corner: %s, %v", e.Verdict, e.Value)
	}
}

// What disturbed one cell is told once, however many responses and contrasts it is in.
func TestUnevenIsToldOnce(t *testing.T) {
	l := newLab().factorial()
	l.x.Responses = append(l.x.Responses, result.Response{Name: "cpu", Unit: "s", Better: "lower", Compare: result.Ratio,
		Margin: 0.02})
	l.x.Contrasts = append(l.x.Contrasts, result.Contrast{Factors: []string{"size"}, Levels: []string{"large"}},
		interaction())
	value := noisy(3, 0.001, 0.05)
	l.fill(10, func(b int, c result.Cell) []float64 { y := value(b, c)[0]; return []float64{y, y} })
	for i := range l.runs {
		levels := l.x.Cells[l.runs[i].Cell].Levels
		l.runs[i].Conditions = map[string]float64{"foreign_cpu": 0.01}
		if levels["size"] == "large" {
			l.runs[i].Conditions["foreign_cpu"] = 0.1
			if levels["mode"] == "on" {
				l.runs[i].Conditions["foreign_cpu"] = 0.3
			}
		}
	}
	a := l.ended("budget")
	all := a.Warnings
	for _, e := range a.Effects {
		all = append(all, e.Warnings...)
	}
	var told []string
	for _, w := range all {
		if strings.Contains(w, "other processes") {
			told = append(told, w)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "at size large and") ||
		!strings.HasSuffix(told[0], " (of 2 contrasts where it differs, most here)") {
		t.Errorf("told: %q", told)
	}
}
