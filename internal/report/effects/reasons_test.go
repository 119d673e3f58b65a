package effects

import (
	"math"
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// Every kind of reason has its sentence, with the figures that it is about.
func TestReasons(t *testing.T) {
	wall := result.Response{Name: "wall", Unit: "s", Compare: result.Ratio, Margin: 0.02}
	base := analysis.Effect{Response: wall, Contrast: result.Contrast{Factors: []string{"mode"}, Levels: []string{"on"}}, Unit: "blocks", Figure: analysis.Figure{Estimate: result.Estimate{N: 5, Low: -0.01, High: 0.012},
		Mean: result.Estimate{Value: 0.12, Low: 0.01, High: 0.23}}, Verdict: analysis.Inconclusive}
	limited := func(e *analysis.Effect, l analysis.Limit) {
		e.Limits, e.Reason = []analysis.Limit{l}, analysis.Reason{Kind: analysis.Limited}
	}
	for want, change := range map[string]func(*analysis.Effect){
		"needs 6 blocks: 1 more":                         func(e *analysis.Effect) { e.Reason = analysis.Reason{Kind: analysis.FewUnits, N: 6} },
		"first look is at 10 blocks, and there are 5":    func(e *analysis.Effect) { e.Reason = analysis.Reason{Kind: analysis.BeforeLook, N: 10} },
		"These 5 blocks cannot bound the effect":         func(e *analysis.Effect) { e.Reason.Kind = analysis.Unbounded },
		"decides only at its end":                        func(e *analysis.Effect) { e.Reason.Kind = analysis.NoLook },
		"No block is complete":                           func(e *analysis.Effect) { e.Reason.Kind = analysis.NoBlocks },
		"No block has a value of wall":                   func(e *analysis.Effect) { e.Reason.Kind = analysis.NoValues },
		"no practical margin above 0":                    func(e *analysis.Effect) { e.Reason.Kind = analysis.NoMargin },
		"2.0 % of a baseline's median of 0 is no margin": func(e *analysis.Effect) { e.Reason = analysis.Reason{Kind: analysis.NoShare, Size: 0.02} },
		"no factor of that name": func(e *analysis.Effect) {
			e.Reason = analysis.Reason{Kind: analysis.Damaged, Text: "no factor of that name"}
		},
		"-1.0 to +1.2 %, is within the margin of 2 %. A stall": func(e *analysis.Effect) { e.Verdict, e.Unseen = analysis.NoEffect, 4 },
		"on 4 degrees of freedom.":                             func(e *analysis.Effect) { e.Student = true },
		"on 1 degree of freedom.":                              func(e *analysis.Effect) { e.Student, e.N = true, 2 },
		"too near the margin of 2 %":                           func(e *analysis.Effect) { e.Reason.Kind = analysis.TooNear },
		"slow runs make it +12.0 % (+1.0 to +23.0 %)":          func(e *analysis.Effect) { limited(e, analysis.Tail) },
		"All values of wall are the same":                      func(e *analysis.Effect) { limited(e, analysis.Coarse); e.Steps = &analysis.Steps{} },
		"steps of 10.0 ms or more, beyond the margin of 2 %, and 40.0 % of the differences": func(e *analysis.Effect) {
			limited(e, analysis.Coarse)
			e.Steps = &analysis.Steps{Step: 0.01, Beyond: true, Tied: 0.4}
		},
		`before shows in the runs (p = 0.01, correlation of ranks 0.50), so the size of the effect is not known; repeat with settle = "1m31s" at factor mode`: func(e *analysis.Effect) {
			limited(e, analysis.CarryOver)
			e.Carried, e.Settle, e.SettleRuns = &analysis.Carried{P: 0.01, Rho: 0.5, Runs: 3}, 90.2, 9
		},
		`pairs show only a part of what it costs; repeat with settle = "31ms" at factor mode`: func(e *analysis.Effect) {
			limited(e, analysis.CarryOver)
			e.Held.N, e.Settle, e.SettleRuns = 7, 0.0302, 3
		},
		"repeat with a settle of the factor as long as 5 runs": func(e *analysis.Effect) {
			limited(e, analysis.CarryOver)
			e.Carried, e.SettleRuns = &analysis.Carried{P: 0.01, Runs: 1.4}, 4.2
		},
		"Guards void 6 of 20 first tries of mode on, and 0 of 20 of what": func(e *analysis.Effect) {
			limited(e, analysis.Survivors)
			e.Failing = &analysis.Failing{Level: analysis.Failures{Runs: 14, Tried: 20, Void: 6}, Base: analysis.Failures{Runs: 20, Tried: 20}, Failed: 1, Voids: 0.02}
		},
	} {
		e := base
		change(&e)
		if got := reasonText(&e); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An answer names what it speaks of, and has the mean and the tail beside it where they differ.
func TestTypicalRunMeanAndTail(t *testing.T) {
	for want, change := range map[string]func(*analysis.Effect){
		"wall in a typical run +5.0 %":  func(*analysis.Effect) {},
		"wall in the mean of runs +5.0": func(e *analysis.Effect) { e.Student = true },
		"+4.0 to +6.0 %), n = 100 blocks, measured; its size is not known": func(e *analysis.Effect) {
			e.Limits = []analysis.Limit{analysis.CarryOver}
		},
		"; the mean +9.0 % (+4.0 to +14.0 %)": func(e *analysis.Effect) {
			e.Scatter, e.Mean = 0.002, result.Estimate{Value: 0.09, Low: 0.04, High: 0.14}
			e.Base.P95, e.Level.P95 = result.Estimate{Value: 1.1, Low: 1, High: 1.2, N: 100}, result.Estimate{Value: 2, Low: 1.5, High: math.NaN()}
		},
	} {
		e := analysis.Effect{Response: result.Response{Name: "wall", Unit: "s", Compare: result.Ratio, Margin: 0.02}, Contrast: result.Contrast{Factors: []string{"mode"}, Levels: []string{"on"}},
			Figure: analysis.Figure{Estimate: result.Estimate{Value: 0.05, Low: 0.04, High: 0.06, N: 100, Evidence: result.Measured}}, Unit: "blocks", Alpha: 0.05, Verdict: analysis.CostsMore}
		change(&e)
		if text := sentence(&result.Experiment{}, &e); !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
		if !e.Uneven() {
			continue
		}
		want := "runs scatter unequally (p = 0.002): the typical run changes by +5.0 %, the mean by +9.0 % (+4.0 to +14.0 %); the 95th percentile " +
			"of runs is 1.10 s (1.00 s to 1.20 s) at the baseline, and 2.00 s (1.50 s or more: too few runs for an upper end) at the level"
		if text := strings.Join(notes(&e), "\n"); !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// Sentence, table and JSON say the same of what was compared: stalls that no run had are in none of it.
func TestNoDifference(t *testing.T) {
	e := analysis.Effect{Response: result.Response{Name: "wall", Unit: "s", Compare: result.Ratio, Margin: 0.02}, Contrast: result.Contrast{Factors: []string{"mode"}, Levels: []string{"on"}},
		Figure: analysis.Figure{Estimate: result.Estimate{Low: -0.01, High: 0.01, N: 10, Evidence: result.Measured}}, Unit: "blocks", Verdict: analysis.NoEffect, Reason: analysis.Reason{Kind: analysis.Shown}, Unseen: 4}
	x := &result.Experiment{Factors: []result.Factor{{Name: "mode", Baseline: "off", Levels: []string{"off", "on"}}}}
	for what, text := range map[string]string{"sentence": sentence(x, &e), "table": verdictWord(&e), "JSON": reasonText(&e)} {
		testkit.Has(t, text, "no practical difference to a typical run", what)
	}
}

// What an interval needs is said once, in the reason: what deciding would take then is not known.
func TestFewBlocksNeedOneSentence(t *testing.T) {
	e := analysis.Effect{Unit: "blocks", Need: 6, Figure: analysis.Figure{Estimate: result.Estimate{N: 2}}}
	if needText(&e) == "" {
		t.Error("of other reasons nothing says what it would take")
	}
	if e.Reason.Kind = analysis.FewUnits; needText(&e) != "" {
		t.Error(needText(&e))
	}
}

// Where earlier levels show in the runs, the next step is a longer wait, in place of the one that was too short.
func TestSettleStep(t *testing.T) {
	x := &result.Experiment{Name: "mode", File: "mode.toml", Factors: []result.Factor{{Name: "mode"}},
		Overrides: map[string]string{"settle": "1s", "workload.size": "small"}}
	effect := analysis.Effect{Contrast: result.Contrast{Primary: true}, Response: result.Response{Primary: true}, Settle: 90.2}
	r := &Report{Dir: "try", Analysis: &analysis.Analysis{Experiment: x, Complete: true, Effects: []analysis.Effect{effect}}}
	want := "hostlab run mode.toml --set workload.size=small --set settle=1m31s --out try-2"
	testkit.Same(t, []string{want}, []string{r.steps()[0].Line})
	if x.Factors = append(x.Factors, result.Factor{Name: "other"}); len(r.steps()) > 0 {
		t.Error("of which of two factors is the wait?")
	}
}
