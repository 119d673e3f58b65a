package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
)

// A measured gain stands beside its own lever only; the others say why they have none.
func TestMeasure(t *testing.T) {
	measured := explain.Measured{Gain: result.Estimate{Value: 0.1, N: 12, Evidence: "measured"}, GainSource: "experiment"}
	for _, found := range []map[string]explain.Measured{nil, {explain.LogDevice: measured}} {
		r := explain.Report{Bounds: []explain.Bound{{Lever: explain.LogDevice}, {Lever: explain.Processor}}}
		measure(&r, found)
		if r.Bounds[0].Gain != found[explain.LogDevice].Gain || r.Bounds[0].Gain.Known() != (r.Bounds[0].Unmeasured == "") || r.Bounds[1].Gain.Known() || r.Bounds[1].Unmeasured == "" || strings.Contains(r.Bounds[1].Unmeasured, "log-device") {
			t.Errorf("%+v", r.Bounds)
		}
	}
}

// An experiment with too few blocks does not keep a recording from being made: the bound
// stands without a gain, and with the number of blocks that the experiment's own report
// advises.
func TestGainsOfTooFewBlocks(t *testing.T) {
	for blocks, want := range map[int]string{0: "no block is complete", 2: "too few blocks in experiment"} {
		dir := filepath.Join(t.TempDir(), "ld")
		x := &result.Experiment{Schema: result.SchemaVersion, ID: "id", Name: "log-device", BuiltIn: "log-device", Section: "log", Workload: "clientcopy", Evidence: result.Measured,
			Factors:   []result.Factor{{Name: "log", Kind: "parameter", Levels: []string{"disk", "tmpfs", "delay"}, Baseline: "disk"}},
			Responses: []result.Response{{Name: "duration", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02, Primary: true}},
			Design:    result.Design{Kind: "rcbd", Alpha: 0.05, Looks: []int{2}, Repeats: 1},
			Blocks:    []result.Block{{Plots: [][]int{{0, 1, 2}}}, {Plots: [][]int{{0, 1, 2}}}}}
		for _, l := range x.Factors[0].Levels {
			x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"log": l}})
			if l != "disk" {
				x.Contrasts = append(x.Contrasts, result.Contrast{Factors: []string{"log"}, Levels: []string{l}, Primary: true})
			}
		}
		s, err := store.Create(dir, x, []byte("study\n"))
		if err != nil {
			t.Fatal(err)
		}
		for b := range blocks {
			for c := range 3 {
				if err := s.Append(result.Run{Block: b, Slot: c, Cell: c, Attempt: 1, Status: result.OK, Values: map[string]float64{"duration": 10 + float64(c) + 0.1*float64(b)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.End(result.End{Reason: "looks", Blocks: blocks}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		g, err := (&explainRun{experiments: []string{dir}}).gains()
		if err != nil {
			t.Errorf("%d blocks: %v", blocks, err)
		}
		r := explain.Report{Bounds: []explain.Bound{{Lever: explain.LogDevice}, {Lever: explain.Processor}}}
		measure(&r, g)
		if got := r.Bounds[0]; got.Gain.Known() || !strings.Contains(got.Unmeasured, want) || !strings.Contains(r.Bounds[1].Unmeasured, "did not vary it") {
			t.Errorf("%d blocks: %+v", blocks, r.Bounds)
		}
		if blocks == 0 {
			continue
		}
		var report strings.Builder
		if err := verdicts(&report, dir); err != nil {
			t.Fatal(err)
		}
		const least = 7 // of two comparisons at 95 % together
		for _, text := range []string{r.Bounds[0].Unmeasured, report.String()} {
			if !strings.Contains(text, fmt.Sprint("--blocks ", least)) {
				t.Errorf("no --blocks %d in %s", least, text)
			}
		}
	}
}
