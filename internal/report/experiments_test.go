package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// A measured gain stands beside its own lever only.
func TestMeasured(t *testing.T) {
	found := map[string]lever.Evidence{lever.Log: {Source: lever.OfExperiment,
		Gain: &result.Estimate{Value: 0.1, N: 12, Evidence: "measured"}}}
	a := (&Observed{Role: check.ProductionDB, Experiments: found}).Assessment(host.Tree{Root: t.TempDir()}, &host.Facts{})
	for _, l := range a.Levers {
		last := l.Evidence[len(l.Evidence)-1]
		testkit.Is(t, (l.Name == lever.Log), (last.Source == lever.OfExperiment), l.Name, l.Evidence)
	}
}

// An experiment with too few blocks does not keep a recording from being made: the bound
// stands without a gain, and with the number of blocks that the experiment's own report
// advises.
func TestGainsOfTooFewBlocks(t *testing.T) {
	for blocks, want := range map[int]string{0: "no block is complete", 2: "too few blocks in experiment"} {
		dir := filepath.Join(t.TempDir(), "ld")
		x := &result.Experiment{Schema: result.SchemaVersion, ID: "id", Name: "log-device", BuiltIn: "log-device",
			Section: "log", Workload: "clientcopy", Evidence: result.Measured,
			Factors: []result.Factor{{Name: "log", Kind: "parameter", Levels: []string{"disk", "tmpfs", "delay"},
				Baseline: "disk"}},
			Responses: []result.Response{{Name: "duration", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02,
				Primary: true}}, Design: result.Design{Kind: "rcbd", Alpha: 0.05, Looks: []int{2}, Repeats: 1},
			Blocks: []result.Block{{Plots: [][]int{{0, 1, 2}}}, {Plots: [][]int{{0, 1, 2}}}}}
		for _, l := range x.Factors[0].Levels {
			x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"log": l}})
			if l != "disk" {
				x.Contrasts = append(x.Contrasts, result.Contrast{Factors: []string{"log"}, Levels: []string{l}, Primary: true})
			}
		}
		s := testkit.Must(store.Create(dir, x, []byte("study\n")))(t)
		for b := range blocks {
			for c := range 3 {
				testkit.OK(t, s.Append(result.Run{Block: b, Slot: c, Cell: c, Attempt: 1, Status: result.OK,
					Values: map[string]float64{"duration": 10 + float64(c) + 0.1*float64(b)}}))
			}
		}
		testkit.OK(t, s.End(result.End{Reason: "looks", Blocks: blocks}))
		testkit.OK(t, s.Close())
		r := testkit.Must(store.Load(dir))(t)
		g, err := Measured([]string{dir}, []*store.Record{r})
		if err != nil {
			t.Errorf("%d blocks: %v", blocks, err)
		}
		if got := g[lever.Log]; got.Gains() || !strings.Contains(got.Text, want) {
			t.Errorf("%d blocks: %+v", blocks, g)
		}
		const least = 7 // of two comparisons at 95 % together
		if text := g[lever.Log].Text; blocks > 0 && !strings.Contains(text, fmt.Sprint("--blocks ", least)) {
			t.Errorf("no --blocks %d in %s", least, text)
		}
	}
}
