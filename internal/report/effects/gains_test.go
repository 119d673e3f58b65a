package effects

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

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
