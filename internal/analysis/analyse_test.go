package analysis

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*(1e-3+math.Abs(a)+math.Abs(b))
}

// The golden values are scipy's; see internal/stats/testdata/golden.py.
func TestEffectsAgreeWithScipy(t *testing.T) {
	b := testkit.Must(os.ReadFile("../stats/testdata/golden.json"))(t)
	type interval struct {
		D         []float64
		Alpha     float64
		Estimate  float64
		Low, High *float64
	}
	var golden struct {
		SignedRank []interval `json:"signed_rank"`
		PairedT    []interval `json:"paired_t"`
	}
	testkit.OK(t, json.Unmarshal(b, &golden))
	or := func(p *float64) float64 {
		if p == nil {
			return math.NaN()
		}
		return math.Expm1(*p)
	}
	effect := func(c interval) Effect {
		l := newLab().fill(len(c.D), exactly(c.D))
		l.x.Design.Alpha = c.Alpha
		return l.ended("looks").Effects[0]
	}
	for i, c := range golden.SignedRank {
		if e := effect(c); !near(e.Value, math.Expm1(c.Estimate)) || !near(e.Low, or(c.Low)) || !near(e.High, or(c.High)) {
			t.Errorf("signed rank %d: %v [%v, %v], scipy %v [%v, %v]", i, e.Value, e.Low, e.High, math.Expm1(c.Estimate),
				or(c.Low), or(c.High))
		}
	}
	for i, c := range golden.PairedT {
		e := effect(c)
		mean := e.Mean
		if e.Uneven() { // then the mean is that of runs
			mean = stats.PairedT(e.Differences, e.Alpha).Map(math.Expm1)
		}
		if !near(mean.Value, math.Expm1(c.Estimate)) || !near(mean.Low, or(c.Low)) || !near(mean.High, or(c.High)) {
			t.Errorf("paired t %d: %v, scipy %v [%v, %v]", i, mean, math.Expm1(c.Estimate), or(c.Low), or(c.High))
		}
	}
}

func TestVerdicts(t *testing.T) {
	delta := math.Log1p(0.02)
	for _, c := range []struct {
		name    string
		d       []float64
		change  func(*lab)
		verdict Verdict
		why     Why    // "": any
		text    string // a part of it, of what the record lacks
		need    bool
	}{
		{name: "beyond the margin", d: about(0.05, 0.01, 10), verdict: CostsMore, why: Shown},
		{name: "faster", d: about(-0.05, 0.01, 10), verdict: CostsLess, why: Shown},
		{name: "less of what should be high", d: about(-0.05, 0.01, 10), verdict: CostsMore, why: Shown,
			change: func(l *lab) { l.x.Responses[0].Better = "higher" }},
		{name: "more of what should be high", d: about(0.05, 0.01, 10), verdict: CostsLess,
			change: func(l *lab) { l.x.Responses[0].Better = "higher" }},
		{name: "nothing", d: about(0, 0.01, 10), verdict: NoEffect, why: Shown},
		{name: "small but there", d: about(0.01, 0.005, 10), verdict: NoEffect},
		{name: "there, perhaps beyond", d: about(0.02, 0.01, 10), verdict: Unresolved, why: TooNear},
		{name: "there, about twice the margin", d: about(0.03, 0.03, 10), verdict: Unresolved, why: Shown, need: true},
		{name: "less, perhaps beyond", d: about(-0.03, 0.03, 10), verdict: Unresolved, need: true},
		{name: "just within the margin", d: about(delta-2e-6, 1e-6, 10), verdict: NoEffect},
		{name: "wide", d: about(0, 0.1, 10), verdict: Inconclusive, why: Shown, need: true},
		{name: "no margin", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: NoMargin,
			change: func(l *lab) { l.x.Responses[0].Margin = 0 }},
		{name: "too few", d: about(0.05, 0.01, 5), verdict: Inconclusive, why: FewUnits, need: true},
		{name: "before the first look", d: about(0.05, 0.01, 9), verdict: Inconclusive, why: BeforeLook, need: true},
		{name: "no looks", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: NoLook,
			change: func(l *lab) { l.x.Design.Looks = nil }},
		{name: "nothing yet", verdict: Inconclusive, why: NoBlocks, need: true},
		{name: "no values", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: NoValues, need: true,
			change: func(l *lab) {
				for i := range l.runs {
					l.runs[i].Values = nil
				}
			}},
		{name: "no such factor", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: Damaged, text: `no factor "moode"`,
			change: func(l *lab) { l.x.Contrasts[0].Factors = []string{"moode"} }},
		{name: "no such level", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: Damaged, text: "mode maybe",
			change: func(l *lab) { l.x.Contrasts[0].Levels = []string{"maybe"} }},
		{name: "baseline against itself", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: Damaged,
			text:   `"off" is the baseline`,
			change: func(l *lab) { l.x.Contrasts[0].Levels = []string{"off"} }},
		{name: "a contrast of three", d: about(0.05, 0.01, 10), verdict: Inconclusive, why: Damaged,
			text:   "one factor or two",
			change: func(l *lab) { l.x.Contrasts[0].Levels = nil }},
	} {
		l := newLab().fill(len(c.d), exactly(c.d))
		if c.change != nil {
			c.change(l)
		}
		e := l.analyse().Effects[0]
		if e.Verdict != c.verdict || c.why != "" && e.Reason.Kind != c.why || e.Reason.Kind == "" ||
			!strings.Contains(e.Reason.Text, c.text) {
			t.Errorf("%s: %s: %+v; want %s with %q", c.name, e.Verdict, e.Reason, c.verdict, c.why)
		}
		if got := e.Need > e.N; got != c.need || got != (e.NeedSeconds > 0) && len(l.runs) > 0 {
			t.Errorf("%s: needs %d of %d, %v s; want a need: %v", c.name, e.Need, e.N, e.NeedSeconds, c.need)
		}
	}
}

func TestNeed(t *testing.T) {
	d := about(0, 0.1, 10)
	e := newLab().fill(10, exactly(d)).analyse().Effects[0]
	want := stats.BlocksNeeded(stats.Spread(d), math.Log1p(0.02), 0.05, 0.8)
	if e.Need < want-1 || e.Need > want+1 { // the estimate is 0 but for rounding
		t.Errorf("needs %d blocks, want %d", e.Need, want)
	}
	testkit.Is(t, float64(e.Need-10)*20, e.NeedSeconds, "needs", "s")
	// More than half of the differences are the same: the spread is 0 and cannot tell.
	d = append(slices.Repeat([]float64{0.001}, 6), -0.5, 0.5, -0.4, 0.4)
	if e := newLab().fill(10, exactly(d)).analyse().Effects[0]; e.Need != 0 && e.Need <= e.N {
		t.Errorf("needs %d blocks of %d: %+v", e.Need, e.N, e.Reason)
	}
}

func TestDecided(t *testing.T) {
	primary := func(v Verdict) Effect {
		return Effect{Contrast: result.Contrast{Primary: true}, Response: result.Response{Primary: true}, Verdict: v}
	}
	secondary := primary(Inconclusive)
	secondary.Contrast.Primary = false
	for _, c := range []struct {
		name    string
		effects []Effect
		want    bool
	}{
		{"all kinds of decisions", []Effect{primary(CostsMore), primary(CostsLess), primary(NoEffect), secondary}, true},
		{"one more unresolved", []Effect{primary(CostsMore), primary(Unresolved)}, false},
		{"one unresolved", []Effect{primary(CostsMore), primary(Unresolved)}, false},
		{"one inconclusive", []Effect{primary(Inconclusive), primary(NoEffect)}, false},
		{"none primary", []Effect{secondary}, false},
		{"none", nil, false},
	} {
		testkit.Is(t, c.want, (&Analysis{Effects: c.effects}).Decided(), c.name)
	}
}

func TestLooks(t *testing.T) {
	type outcome struct {
		Look, Blocks, N int
		Complete        bool
		Judged          bool
		Waiting         bool // a warning of blocks that wait
	}
	for _, c := range []struct {
		name   string
		blocks int
		end    string
		want   outcome
	}{
		{"before the first", 9, "", outcome{Blocks: 9, N: 9}},
		{"at the first", 10, "", outcome{Look: 1, Blocks: 10, N: 10, Judged: true}},
		{"between", 13, "", outcome{Look: 1, Blocks: 10, N: 10, Judged: true, Waiting: true}},
		{"at the second", 14, "", outcome{Look: 2, Blocks: 14, N: 14, Judged: true}},
		{"ended at the second", 14, "resolved", outcome{Look: 2, Blocks: 14, N: 14, Complete: true, Judged: true}},
		{"budget spent before the first", 8, "budget", outcome{Look: 1, Blocks: 8, N: 8, Complete: true, Judged: true}},
		{"budget spent between", 12, "budget", outcome{Look: 2, Blocks: 12, N: 12, Complete: true, Judged: true}},
		{"all", 20, "looks", outcome{Look: 3, Blocks: 20, N: 20, Complete: true, Judged: true}},
		{"ended with nothing", 0, "budget", outcome{Complete: true}},
	} {
		l := newLab().fill(c.blocks, noisy(1, 0.001, 0.1))
		l.x.Design.Looks = []int{10, 14, 20}
		a := l.analyse()
		if c.end != "" {
			a = l.ended(c.end)
		}
		e := a.Effects[0]
		got := outcome{a.Look, a.Blocks, e.N, a.Complete, e.Verdict == CostsMore,
			slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "after the look at 10") })}
		testkit.Same(t, c.want, got, c.name)
		testkit.Is(t, c.end, a.Ended, c.name, "ended")
	}
}

func TestAlpha(t *testing.T) {
	l := newLab().factorial()
	l.x.Responses = append(l.x.Responses,
		result.Response{Name: "cpu", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02, Primary: true},
		result.Response{Name: "rss", Unit: "B", Better: "lower", Compare: result.Difference, Margin: 1 << 20})
	l.x.Contrasts = []result.Contrast{
		{Factors: []string{"mode", "size"}, Levels: []string{"on", "large"}},
		{Factors: []string{"mode"}, Levels: []string{"on"}, Primary: true},
		{Factors: []string{"size"}, Levels: []string{"large"}, Primary: true},
	}
	l.x.Design.Looks = []int{10, 14, 20}
	l.fill(10, func(b int, _ result.Cell) []float64 { return []float64{1, 2, float64(b)} })
	a := l.analyse()
	if len(a.Effects) != 9 {
		t.Fatalf("%d effects", len(a.Effects))
	}
	for i, e := range a.Effects {
		want := stats.LookAlphas(0.05/4, l.x.Design.Looks, false)[0] // two contrasts in two responses, first of three looks
		if !e.Primary() {
			want = stats.LookAlphas(0.05, l.x.Design.Looks, false)[0]
		}
		if e.Primary() != (i < 4) || !near(e.Alpha, want) {
			t.Errorf("effect %d (%s of %s): primary %v, alpha %v, want %v", i, e.Contrast, e.Response.Name, e.Primary(),
				e.Alpha, want)
		}
	}
	l.x.Design.Alpha = 0
	if a := l.analyse(); !near(a.Effects[0].Alpha, stats.LookAlphas(0.05/4, l.x.Design.Looks, false)[0]) ||
		!hasWarning(a.Warnings, "alpha is 0") {
		t.Errorf("alpha 0: %v, %q", a.Effects[0].Alpha, a.Warnings)
	}
}

func hasWarning(list []string, part string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(w, part) })
}
