package smt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// logs is n rounds around a ratio, with noise of that standard deviation.
func logs(r *rand.Rand, n int, ratio, noise float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Log(ratio) + noise*r.NormFloat64()
	}
	return out
}

// made is an input with the ratios given, of 15 rounds with 1 % noise.
func made(sibling, other, alu float64, sweep [3]float64) Input {
	r := rand.New(rand.NewPCG(1, 2))
	const n, noise = 15, 0.01
	logs(r, n, 1, noise)
	in := Input{Alone: 4e8, Beside: 4e8 * sibling, Sibling: logs(r, n, sibling, noise), Other: logs(r, n, other, noise), ALU: logs(r, n, alu, noise), Yield: logs(r, n, 1.2, noise)}
	for i, name := range []string{"half-l1", "half-l2", "2xl2"} {
		in.Sweep = append(in.Sweep, Step{Name: name, Ratio: logs(r, n, sweep[i], noise)})
	}
	return in
}

var grows, flat = [3]float64{0.8, 0.7, 0.5}, [3]float64{0.5, 0.5, 0.5}

func TestJudge(t *testing.T) {
	with := func(in Input, change func(*Input)) Input { change(&in); return in }
	harm := made(0.5, 0.98, 0.7, grows)
	for name, c := range map[string]struct {
		in    Input
		want  Decision
		cause Cause
		says  string
	}{
		"no siblings":          {with(harm, func(in *Input) { in.Sibling = nil; in.NoSiblings = "no CPU shares a core with CPU 0" }), Untestable, "", "Untestable here: no CPU shares a core with CPU 0. Beside a scanner on another core the lock thread keeps 9"},
		"not in the study":     {with(harm, func(in *Input) { in.Sibling, in.Other = nil, nil }), Untestable, "", "Not tested: the study measures no scanner on a sibling"},
		"contaminated":         {with(harm, func(in *Input) { in.Marked = []Marked{{"", 300, 20, 41}} }), Inconclusive, "", "61 of 300 runs are contaminated, more than a fifth: in 20 the CPUs moved, in 41 others took part of them. Beside"},
		"a fifth contaminated": {with(harm, func(in *Input) { in.Marked = []Marked{{"", 300, 20, 40}} }), Harm, Caches, ""},
		"caches":               {harm, Harm, Caches, "of its rate alone: 200 million of 400 million acquisitions/s. Beside one on another core it keeps 9"},
		"yield":                {harm, Harm, Caches, "make together 12"},
		"as much as ALU":       {made(0.5, 0.98, 0.5, grows), Harm, IssueSlots, "Issue slots"},
		"not by size":          {made(0.5, 0.98, 0.7, flat), Harm, IssueSlots, "Issue slots"},
		"ALU costs nothing":    {made(0.3, 0.98, 1, [3]float64{0.3, 0.3, 0.3}), Harm, Unknown, "an ALU loop there, which only wants issue slots, is not seen to cost anything (9"},
		"only up to L2":        {made(0.5, 0.98, 0.7, [3]float64{0.8, 0.4, 0.5}), Harm, IssueSlots, ""},
		"no ALU loop":          {with(harm, func(in *Input) { in.ALU = nil }), Harm, Unknown, "is not known"},
		"no sweep":             {with(harm, func(in *Input) { in.Sweep = in.Sweep[:2] }), Harm, Unknown, "is not known"},
		"sweep of one": {with(harm, func(in *Input) {
			in.Sweep = made(0.5, 0.98, 0.7, grows).Sweep
			in.Sweep[0].Ratio = in.Sweep[0].Ratio[:1]
		}), Harm, Unknown, "too few rounds of scans"},
		"other maybe as much": {with(harm, func(in *Input) { in.Other = logs(rand.New(rand.NewPCG(3, 4)), 15, 0.55, 0.2) }), Inconclusive, "", "a scanner on another core may cost as much: against that it keeps"},
		"other of one":        {with(harm, func(in *Input) { in.Other = in.Other[:1] }), Inconclusive, "", "too few rounds that have a scanner on another core too"},
		"other costs as much": {made(0.5, 0.5, 0.7, grows), Inconclusive, "", "a scanner on another core costs about as much"},
		"no other core":       {with(harm, func(in *Input) { in.Other = nil }), Inconclusive, "", "without a scanner on another core"},
		"none":                {made(0.99, 0.99, 1, flat), None, "", "Less than 5 % does not matter."},
		"none, no other core": {with(made(0.99, 0.99, 1, flat), func(in *Input) { in.Other = nil }), None, "", ""},
		"between":             {made(0.92, 0.99, 1, flat), Inconclusive, "", "of which the rule says nothing"},
		"on the edge":         {made(0.9, 0.99, 1, flat), Inconclusive, "", "neither wholly below 90 % nor wholly within 5 %"},
		"more":                {made(1.2, 0.99, 1, flat), Inconclusive, "", "of which the rule says nothing"},
		"one round":           {with(harm, func(in *Input) { in.Sibling = in.Sibling[:1] }), Inconclusive, "", "too few rounds for an interval"},
		"four rounds":         {with(harm, func(in *Input) { in.Sibling = in.Sibling[:4] }), Harm, Caches, "(n = 4)"},
		"three rounds":        {with(harm, func(in *Input) { in.Sibling = in.Sibling[:3] }), Inconclusive, "", "no interval, n = 3"},
		"holes":               {with(harm, func(in *Input) { in.Sibling = append(slices.Clone(in.Sibling[:8]), math.NaN()) }), Harm, Caches, "(n = 8)"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(c.in)
			if v.Decision != c.want || v.Cause != c.cause || !strings.Contains(v.Reason, c.says) {
				t.Errorf("%s, %q: %s\nwant %s, %q: %s", v.Decision, v.Cause, v.Reason, c.want, c.cause, c.says)
			}
			if (v.Obstacle == "") != (v.Decision == Harm || v.Decision == None) {
				t.Errorf("%s, and what is in the way is %q", v.Decision, v.Obstacle)
			}
			if strings.Contains(strings.ToLower(v.Reason), "disable") {
				t.Error("it gives advice that a rate alone does not bear")
			}
		})
	}
}

// A sibling that keeps less never turns harm into anything else, and one that keeps
// more never turns anything but harm into it.
func TestJudgeIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(-1.2, 0.2), n, n).Draw(t, name)
		}
		in := Input{Sibling: draw("sibling"), Other: draw("other"), Marked: []Marked{{Runs: 100, Moved: rapid.IntRange(0, 40).Draw(t, "moved")}}}
		worse, better := in, in
		worse.Sibling, better.Sibling = slices.Clone(in.Sibling), slices.Clone(in.Sibling)
		by := rapid.Float64Range(0, 2).Draw(t, "by")
		for i := range in.Sibling {
			worse.Sibling[i] -= by
			better.Sibling[i] += by
		}
		v := Judge(in)
		if w := Judge(worse).Decision; v.Decision == Harm && w != Harm {
			t.Fatalf("worse by %g, harm became %s", by, w)
		}
		if b := Judge(better).Decision; v.Decision != Harm && b == Harm {
			t.Fatalf("better by %g, %s became harm", by, v.Decision)
		}
		more := in
		more.Marked = append(slices.Clone(in.Marked), Marked{Cell: "none", Runs: 15, Disturbed: rapid.IntRange(0, 15).Draw(t, "more")})
		if w := Judge(more).Decision; v.Decision == Inconclusive && w != Inconclusive {
			t.Fatalf("more contaminated cells made %s of inconclusive", w)
		}
	})
}

// Noise alone, with stalls as shared hosts have them, is called harm in less than one
// study of twenty, even where the true ratio lies on the rule's edge.
func TestFalseHarm(t *testing.T) {
	const studies = 2000
	r := rand.New(rand.NewPCG(7, 8))
	noisy := func(n int, ratio, noise float64) []float64 {
		out := logs(r, n, ratio, noise)
		for i := range out {
			if r.Float64() < 0.05 { // a stall in the cell, or in the one alone
				out[i] += []float64{-1, 1}[r.IntN(2)] * r.ExpFloat64() * 0.3
			}
		}
		return out
	}
	for _, c := range []struct {
		sibling, other float64
		rounds         int
	}{{1, 1, 15}, {1, 1, 6}, {1, 1, 4}, {0.9, 1, 15}, {0.9, 1, 4}, {0.5, 0.52, 15}, {0.5, 0.526, 6}} {
		for _, noise := range []float64{0.005, 0.02, 0.08} {
			harm := 0
			for range studies {
				if Judge(Input{Sibling: noisy(c.rounds, c.sibling, noise), Other: noisy(c.rounds, c.other, noise)}).Decision == Harm {
					harm++
				}
			}
			if harm*20 >= studies {
				t.Errorf("%+v with noise %g: harm in %d of %d", c, noise, harm, studies)
			}
		}
	}
	// What is there is found.
	found := 0
	for range studies {
		if Judge(Input{Sibling: noisy(15, 0.6, 0.02), Other: noisy(15, 0.98, 0.02)}).Decision == Harm {
			found++
		}
	}
	if found*10 < studies*9 {
		t.Errorf("a loss of 40 %% is found in %d of %d", found, studies)
	}
}

// The published runs come out as harm, with the shares that their table shows.
func TestSeed(t *testing.T) {
	var percents []int
	for _, r := range PublishedRuns {
		percents = append(percents, int(math.Round(100*r.Share())))
	}
	if !slices.Equal(percents, []int{7, 7, 7, 14}) {
		t.Errorf("the siblings' shares are %v %%", percents)
	}
	v := Judge(FromPublished())
	if v.Decision != Harm || v.Cause != Unknown || v.Sibling.N != 4 || v.Sibling.High > 0.2 || v.Sibling.Value < 0.07 || v.Sibling.Value > 0.14 {
		t.Errorf("%+v", v)
	}
	for _, r := range PublishedRuns {
		seen := 0
		for _, l := range r.Lines {
			seen |= l.Affinity
			if (l.Affinity == r.Scanner) != (l.Locked == 0) {
				t.Errorf("%s: CPU %d took %d locks", r.Command, l.Affinity, l.Locked)
			}
		}
		if seen != 15 {
			t.Errorf("%s has CPUs %b", r.Command, seen)
		}
	}
}
