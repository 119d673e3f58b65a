package analysis

import (
	"math"
	"slices"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	one := func(id string, effect float64) *lab {
		l := newLab().fill(10, noisy(1, 0.005, effect))
		l.x.ID, l.x.Study, l.x.Version, l.x.Workload = id, "cafe", "1.0", "command"
		l.x.Host = map[string]string{"kernel": "6.1.0", "cpu": "Xeon"}
		l.x.Parameters = map[string]string{"rows": "1000"}
		return l
	}
	for _, c := range []struct {
		name        string
		effect      float64
		change      func(*lab)
		differences []Difference
		lack        [][2]int // rows that an experiment has no effect for
	}{
		{name: "the same study on another day"},
		{name: "another effect", effect: 0.2},
		{name: "a copy", change: func(l *lab) { l.x.ID = "a" }},
		{name: "all conditions", change: func(l *lab) {
			l.x.Host = map[string]string{"kernel": "6.12.4", "smt": "off", "cpu": "Xeon"}
			l.x.Study, l.x.Version, l.x.Workload = "beef", "1.1", "null"
			l.x.Overrides = map[string]string{"seed": "7"}
			l.x.Parameters["rows"] = "2000"
			l.x.Evidence = result.Emulated
			l.x.Design.Alpha, l.x.Design.Kind, l.x.Design.Repeats, l.x.Design.Looks = 0.01, result.SplitPlot, 2, []int{8, 10}
			l.x.Design.AA = 3
			l.x.Factors[0].Levels = []string{"off", "on", "auto"}
			l.x.Responses[0].Margin, l.x.Responses[0].Better = 0.05, "higher"
		}, differences: []Difference{
			{Condition{What: "host kernel"}, []string{"6.1.0", "6.12.4"}}, {Condition{What: "study"}, []string{"cafe", "beef"}},
			{Condition{What: "workload", InStudy: true}, []string{"command", "null"}},
			{Condition{What: "workload rows", InStudy: true}, []string{"1000", "2000"}}, {Condition{What: "hostlab"}, []string{"1.0", "1.1"}},
			{Condition{What: "evidence"}, []string{"measured", "emulated"}},
			{Condition{What: "alpha", InStudy: true}, []string{"0.05", "0.01"}}, {Condition{What: "design", InStudy: true}, []string{"rcbd", "split-plot"}}, {Condition{What: "repeats", InStudy: true}, []string{"1", "2"}},
			{Condition{What: "looks", InStudy: true}, []string{"[10]", "[8 10]"}}, {Condition{What: "A/A pairs", InStudy: true}, []string{"0", "3"}},
			{Condition{What: "levels of mode", Of: "mode", InStudy: true}, []string{"off, on", "auto, off, on"}}, {Condition{What: "margin of wall", Of: "wall", InStudy: true}, []string{"2 %", "5 %"}},
			{Condition{What: "better of wall", Of: "wall", InStudy: true}, []string{"lower", "higher"}}, {Condition{What: "host smt"}, []string{"", "off"}},
			{Condition{What: "override seed", InStudy: true}, []string{"", "7"}},
		}},
		{name: "another baseline", change: func(l *lab) {
			l.x.Factors[0].Levels, l.x.Factors[0].Baseline = []string{"none", "on"}, "none"
			for i := range l.x.Cells {
				if l.x.Cells[i].Levels["mode"] == "off" {
					l.x.Cells[i].Levels = map[string]string{"mode": "none"}
				}
			}
		}, differences: []Difference{
			{Condition{What: "baseline of mode", Of: "mode", InStudy: true}, []string{"off", "none"}}, {Condition{What: "levels of mode", Of: "mode", InStudy: true}, []string{"off, on", "none, on"}},
		}, lack: [][2]int{{0, 1}, {1, 0}}},
		{name: "another response", change: func(l *lab) {
			l.x.Responses[0].Name = "cpu"
			for _, run := range l.runs {
				run.Values["cpu"] = run.Values["wall"]
			}
		}, differences: []Difference{
			{Condition{What: "margin of wall", Of: "wall", InStudy: true}, []string{"2 %", ""}}, {Condition{What: "unit of wall", Of: "wall", InStudy: true}, []string{"s", ""}},
			{Condition{What: "better of wall", Of: "wall", InStudy: true}, []string{"lower", ""}},
			{Condition{What: "margin of cpu", Of: "cpu", InStudy: true}, []string{"", "2 %"}}, {Condition{What: "unit of cpu", Of: "cpu", InStudy: true}, []string{"", "s"}}, {Condition{What: "better of cpu", Of: "cpu", InStudy: true}, []string{"", "lower"}},
		}, lack: [][2]int{{0, 1}, {1, 0}}},
	} {
		second := one("b", 0.05+c.effect)
		if c.change != nil {
			c.change(second)
		}
		first := one("a", 0.05).analyse()
		got := Compare([]*Analysis{first, second.analyse()})
		testkit.Same(t, append([]Difference{}, c.differences...), got.Differences, c.name)
		var lack [][2]int
		for i, r := range got.Rows {
			if n := slices.Index(r.Effects, nil); n >= 0 {
				lack = append(lack, [2]int{i, n})
			}
		}
		testkit.Same(t, c.lack, lack, c.name)
		if r := got.Rows[0]; r.Effects[0] != &first.Effects[0] || r.Apart != (c.effect != 0) {
			t.Errorf("%s: first row %+v", c.name, r)
		}
	}
	if c := Compare(nil); len(c.Rows)+len(c.Differences) != 0 {
		t.Errorf("nothing compared: %+v", c)
	}
}

// An interaction is the same whichever of its factors is named first, and one
// effect that is primary somewhere stands before those that are nowhere.
func TestCompareLinesUp(t *testing.T) {
	a, b := interaction(), result.Contrast{Factors: []string{"size", "mode"}, Levels: []string{"large", "on"}}
	a.Primary = false
	main := result.Contrast{Factors: []string{"mode"}, Levels: []string{"on"}, Primary: true}
	of := func(c ...result.Contrast) *Analysis {
		an := &Analysis{Experiment: &result.Experiment{}}
		for _, c := range c {
			an.Effects = append(an.Effects, Effect{Contrast: c, Response: result.Response{Name: "wall", Primary: true},
				Figure: noFigure()})
		}
		return an
	}
	var names []string
	for _, r := range Compare([]*Analysis{of(a), of(b, main)}).Rows {
		i := slices.IndexFunc(r.Effects, func(e *Effect) bool { return e != nil })
		name := r.Effects[i].Contrast.String()
		names = append(names, name)
		if name == "mode on x size large" && slices.Contains(r.Effects, nil) {
			t.Error("the two ways to write an interaction are two rows")
		}
	}
	testkit.Same(t, []string{"mode on", "mode on x size large"}, names)
}

func TestText(t *testing.T) {
	c := interaction()
	c.At = map[string]string{"b": "2", "a": "1"}
	testkit.Is(t, "mode on x size large at a 1, b 2", c.String())
	ratio := scale{result.Response{Compare: result.Ratio}}
	for v, want := range map[float64]string{0: "0 %", 0.02: "2 %", 0.0599: "5.99 %", 0.5: "50 %", 0.123456: "12.35 %",
		0.00012345: "0.01 %", 1e-9: "0.0000001 %", 12: "1200 %"} {
		testkit.Is(t, want, ratio.size(v), "size", v, ") =")
	}
}

// No record may break the analysis, whatever is in it, and none may get a verdict
// beyond the margin without an interval.
func TestAnyRecord(t *testing.T) {
	small := rapid.IntRange(-1, 4)
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		l := newLab()
		if rapid.Bool().Draw(t, "factorial") {
			l.factorial()
			l.x.Contrasts = append(l.x.Contrasts, interaction())
		}
		if rapid.Bool().Draw(t, "split plot") {
			l.splitPlot()
		}
		l.fill(rapid.IntRange(0, 12).Draw(t, "blocks"), func(int, result.Cell) []float64 {
			return []float64{rapid.Float64().Draw(t, "value")}
		})
		for range rapid.IntRange(0, 20).Draw(t, "damages") {
			if len(l.runs) == 0 {
				break
			}
			run := &l.runs[rapid.IntRange(0, len(l.runs)-1).Draw(t, "run")]
			switch rapid.IntRange(0, 6).Draw(t, "damage") {
			case 0:
				run.Block = small.Draw(t, "block")
			case 1:
				run.Cell, run.Plot = small.Draw(t, "cell"), small.Draw(t, "plot")
			case 2:
				run.Slot = small.Draw(t, "slot")
			case 3:
				run.Status = result.Status(rapid.SampledFrom([]string{"void", "", "warm-up"}).Draw(t, "status"))
			case 4:
				l.x.Cells = l.x.Cells[:rapid.IntRange(0, len(l.x.Cells)).Draw(t, "cells")]
			case 5:
				l.x.Blocks = l.x.Blocks[:rapid.IntRange(0, len(l.x.Blocks)).Draw(t, "plan")]
			case 6:
				l.x.Responses[0].Margin = rapid.Float64().Draw(t, "margin")
			}
		}
		for _, a := range []*Analysis{l.analyse(), l.ended("budget")} {
			for _, e := range a.Effects {
				if e.Reason.Kind == "" || e.Verdict == "" || (e.Verdict == CostsMore || e.Verdict == CostsLess) &&
					(math.IsNaN(e.Low) || math.IsNaN(e.High)) {
					t.Fatalf("%+v", e)
				}
			}
			Compare([]*Analysis{a, a})
		}
	})
}
