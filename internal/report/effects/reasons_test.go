package effects

import (
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/schemas"
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
		"interval is within the margin of 2 %. A stall": func(e *analysis.Effect) { e.Verdict, e.Unseen = analysis.NoEffect, 4 },
		"on 4 degrees of freedom.":                      func(e *analysis.Effect) { e.Student = true },
		"on 1 degree of freedom.":                       func(e *analysis.Effect) { e.Student, e.N = true, 2 },
		"too near the margin of 2 %":                    func(e *analysis.Effect) { e.Reason.Kind = analysis.TooNear },
		"slow runs make it +12.0 % (+1.0 to +23.0 %)":   func(e *analysis.Effect) { limited(e, analysis.Tail) },
		"All values of wall are the same":               func(e *analysis.Effect) { limited(e, analysis.Coarse); e.Steps = &analysis.Steps{} },
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
		testkit.Has(t, reasonText(&e), want)
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
		testkit.Has(t, sentence(&result.Experiment{}, &e), want)
		if !e.Uneven() {
			continue
		}
		want := "runs scatter unequally (p = 0.002): the typical run changes by +5.0 %, the mean by +9.0 % (+4.0 to +14.0 %); the 95th percentile " +
			"of runs is 1.10 s (1.00 s to 1.20 s) at the baseline, and 2.00 s (1.50 s or more: too few runs for an upper end) at the level"
		testkit.Has(t, strings.Join(notes(&e), "\n"), want)
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

// A gain is a share of the slower level's time, whichever of the two the study took
// for its baseline.
func TestGains(t *testing.T) {
	for _, section := range []string{"log", ""} {
		for _, gain := range []float64{0.10, -0.25} {
			x, runs := logRecord(10, gain, 0.20)
			x.Section = section
			got := analysis.Analyse(x, runs, &result.End{Blocks: 10}).Gains()
			if len(got) == 0 {
				t.Fatalf("section %q, gain %v: none", section, gain)
			}
			g, want, from, to := got[0], gain, "disk", "fast"
			if section == "" && gain < 0 {
				want, from, to = 0.25/1.25, "fast", "disk"
			}
			if g.Factor != "log" || g.From != from || g.To != to || g.Response != "wall" || g.At != "all runs" || g.Share.N != 10 || g.Share.Evidence != result.Measured {
				t.Errorf("section %q, gain %v: %+v", section, gain, g)
			}
			if math.Abs(g.Share.Value-want) > 0.01 || g.Share.Low > g.Share.Value || g.Share.High < g.Share.Value {
				t.Errorf("section %q: %+v, expected %v", section, g.Share, want)
			}
		}
	}
	x, _ := logRecord(10, 0.1, 0.2)
	testkit.Is(t, 0, len(analysis.Analyse(x, nil, nil).Gains()), "without a run")
}

// Warm-up runs and void ones count for no gain, and too few blocks decide none.
func TestGainsOfRunsThatCount(t *testing.T) {
	x, runs := logRecord(10, 0.1, 0.2)
	analyse := func(runs []result.Run) *analysis.Analysis {
		return analysis.Analyse(x, runs, &result.End{Blocks: 10})
	}
	want := analyse(runs).Gains()
	for b := range 10 {
		for _, status := range []result.Status{result.WarmUp, result.Void} {
			odd := runs[2*b+1]
			odd.Seq, odd.Status, odd.Values = len(runs), status, map[string]float64{"wall": 1000, "log_share": 0.9}
			runs = append(runs, odd)
		}
	}
	if diff := cmp.Diff(want, analyse(runs).Gains()); diff != "" || !want[0].Decided() {
		t.Errorf("with runs that do not count:\n%s", diff)
	}
	x, runs = logRecord(2, 0.1, 0.2)
	for _, section := range []string{"log", ""} {
		x.Section = section
		got := analyse(runs).Gains()
		if len(got) == 0 || got[0].Decided() || got[0].Share.N != 2 || got[0].Least != 6 {
			t.Errorf("section %q, two blocks: %+v", section, got)
		}
	}
}

// With several primary effects a verdict takes more blocks than one gain by itself: one
// number is told everywhere.
func TestGainsTellWhatTheReportAdvises(t *testing.T) {
	x, _ := logRecord(0, 0, 0)
	x.Factors[0].Levels = append(x.Factors[0].Levels, "san")
	x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"log": "san"}})
	x.Contrasts = append(x.Contrasts, result.Contrast{Factors: []string{"log"}, Levels: []string{"san"}, Primary: true})
	x.Design.Looks = []int{2}
	var runs []result.Run
	for b := range 2 {
		x.Blocks = append(x.Blocks, result.Block{Plots: [][]int{{0, 1, 2}}})
		for c := range 3 {
			runs = append(runs, result.Run{Seq: len(runs), Block: b, Slot: c, Cell: c, Attempt: 1, Status: result.OK, Values: map[string]float64{"wall": 10 + float64(c) + 0.1*float64(b), "log_share": 0.1, "log_wait": 1}})
		}
	}
	for _, section := range []string{"log", ""} {
		x.Section = section
		r := &Report{Dir: "log", Analysis: analysis.Analyse(x, runs, &result.End{Blocks: 2}), Runs: runs}
		advice := fmt.Sprint(r.steps())
		for _, g := range r.Analysis.Gains() {
			if g.Decided() || !strings.Contains(advice, fmt.Sprint("--blocks ", g.Least, " ")) || g.Least != 7 {
				t.Errorf("section %q: %d blocks for %s; the report advises %s", section, g.Least, g.To, advice)
			}
		}
	}
}

// A live experiment whose level is better ends with what keeps it.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		kind, target, level, service string
		verdict                      analysis.Verdict
		ended                        string
		want                         string // of the first command; "": none
	}{
		"setting":      {experiment.KindSetting, "epp", "performance", "postgres", analysis.CostsLess, "resolved", "hostlab set epp=performance"},
		"parameter":    {experiment.KindServer, "log_line_prefix", "it's", "postgres", analysis.CostsLess, "looks", "psql -c "},
		"of MariaDB":   {experiment.KindServer, "innodb_io_capacity", "500", "mariadb", analysis.CostsLess, "looks", "mariadb -e 'set global innodb_io_capacity = 500'"},
		"with a unit":  {experiment.KindServer, "innodb_max_dirty", "64M", "mariadb", analysis.CostsLess, "looks", "mariadb -e 'set global innodb_max_dirty = 67108864'"},
		"a word":       {experiment.KindServer, "binlog_row_image", "FULL", "mariadb", analysis.CostsLess, "looks", `mariadb -e 'set global binlog_row_image = '\''FULL'\''`},
		"worse":        {experiment.KindSetting, "epp", "power", "postgres", analysis.CostsMore, "resolved", ""},
		"no effect":    {experiment.KindSetting, "epp", "power", "postgres", analysis.NoEffect, "resolved", ""},
		"harm":         {experiment.KindSetting, "epp", "power", "postgres", analysis.CostsLess, result.Harmed, ""},
		"of emulation": {experiment.KindEmulated, "", "fixed:50", "postgres", analysis.CostsLess, "resolved", ""},
	} {
		x := &result.Experiment{Parameters: map[string]string{"service": c.service}, Factors: []result.Factor{{Name: "f", Kind: c.kind, Target: c.target}}}
		x.Design.Kind = result.Switchback
		e := analysis.Effect{Contrast: result.Contrast{Factors: []string{"f"}, Levels: []string{c.level}, Primary: true}, Response: result.Response{Primary: true}, Verdict: c.verdict}
		r := &Report{Analysis: &analysis.Analysis{Experiment: x, Complete: true, Ended: c.ended, Effects: []analysis.Effect{e}}}
		got := r.keep()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].Line, c.want)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What keeps a level says what the level does besides, as the plan of the experiment does: of each setting that has a side effect,
// of each parameter whose risk is known, and that it is not known of others.
func TestKeepSaysTheSideEffect(t *testing.T) {
	why := func(kind, target, level string) (all []string) {
		x := &result.Experiment{Parameters: map[string]string{"service": "postgres"}, Factors: []result.Factor{{Name: "f", Kind: kind, Target: target}}}
		x.Design.Kind = result.Switchback
		e := analysis.Effect{Contrast: result.Contrast{Factors: []string{"f"}, Levels: []string{level}, Primary: true}, Response: result.Response{Primary: true}, Verdict: analysis.CostsLess}
		r := &Report{Analysis: &analysis.Analysis{Experiment: x, Complete: true, Ended: "looks", Effects: []analysis.Effect{e}}}
		for _, c := range r.keep() {
			all = append(all, c.Why)
		}
		return all
	}
	settings := 0
	for _, s := range setting.All() {
		for _, value := range append(slices.Sorted(maps.Values(s.Advice)), "another") {
			if s.Effect == "" {
				continue
			}
			settings++
			for _, w := range why(experiment.KindSetting, s.Name, value) {
				if !strings.Contains(w, s.Effect) || value == "another" && len(s.Advice) > 0 && !strings.Contains(w, "; at ") {
					t.Errorf("%s=%s: %q", s.Name, value, w)
				}
			}
		}
	}
	if settings < 40 {
		t.Errorf("%d values of settings", settings)
	}
	for parameter, want := range map[string]string{"synchronous_commit=off": "the commits of the last second are lost", "SYNCHRONOUS_COMMIT=False": "the commits of the last second are lost",
		"synchronous_commit=local": "replica", "synchronous_commit=on": "", "full_page_writes=f": "data can be damaged", "full_page_writes=0": "data can be damaged", "full_page_writes=true": "",
		"innodb_flush_log_at_trx_commit=2": "commits of the last second are lost", "innodb_flush_log_at_trx_commit=1": "", "sync_binlog=1000": "replicas and backups", "sync_binlog=1": "",
		"innodb_doublewrite=OFF": "data can be damaged", "innodb_doublewrite=detect_only": "data can be damaged", "checkpoint_timeout=1h": "recovery after a crash takes longer", "some_option=7": "not known here"} {
		name, level, _ := strings.Cut(parameter, "=")
		list := why(experiment.KindServer, name, level)
		if len(list) != 1 || want == "" && list[0] != "keep it; if another server runs here, add -h and -p of this one" || !strings.Contains(list[0], want) {
			t.Errorf("%s: %q, want %q", parameter, list, want)
		}
	}
}

// The formats of documents, as the command prints them.

func WriteHTML(w io.Writer, s *Set) error     { return document.WriteHTML(w, s.Document()) }
func WriteMarkdown(w io.Writer, s *Set) error { return document.WriteMarkdown(w, s.Document()) }
func WriteJSON(w io.Writer, s *Set) error     { return document.WriteJSON(w, s.Document().Data) }

func WriteText(w io.Writer, s *Set, o Options) error {
	return document.WriteText(w, s.Document(), o)
}

type Options = document.TextOptions

// parts are the tables of a section and its lines.
func parts(e logDevice) (tables []*document.Table, lines []string) {
	for _, b := range e.section("").Blocks {
		switch b := b.(type) {
		case *document.Table:
			tables = append(tables, b)
		case *document.Bars:
			tables = append(tables, b.Table)
		case document.Line:
			lines = append(lines, b.Text)
		}
	}
	return tables, lines
}

// printed is a section as Markdown.
func printed(t *testing.T, e logDevice) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, document.WriteMarkdown(&b, &document.Document{Sections: []document.Section{e.section("")}}))
	return b.String()
}

// docs/schema/report.schema.json describes what WriteJSON writes.
func TestSchemaFile(t *testing.T) {
	type unknownSection struct {
		Name string `json:"name"`
	}
	type plainEstimate result.Estimate // without its own JSON, which is null where it is unknown
	schemas.Schema{Title: "hostlab report --format json",
		Description: "Effects of one experiment or of several. Values are in base units; what is not known is null.",
		Forms:       []any{data{Kind: Kind, Schema: Schema}}, Unknown: true,
		Words: map[reflect.Type][]any{reflect.TypeFor[analysis.Verdict](): {analysis.CostsMore, analysis.CostsLess, analysis.NoEffect, analysis.Unresolved,
			analysis.Inconclusive},
			reflect.TypeFor[result.Evidence]():   {result.Measured, result.Emulated, result.Simulated},
			reflect.TypeFor[result.Comparison](): {result.Ratio, result.Difference},
			reflect.TypeFor[result.DesignKind](): {result.RCBD, result.SplitPlot, result.Switchback},
			reflect.TypeFor[result.Change]():     {result.Online, result.RestartWorkload, result.Reboot, result.Manual}},
		Any:    []any{analysis.LogDevice{}, analysis.Siblings{}, cross{}, unknownSection{}},
		Shapes: map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}},
	}.Equal(t, "report.schema.json")
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
