package analysis_test

import (
	"fmt"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
)

// What does the verdict of an experiment rest on? Ten blocks run the baseline twice, which
// shows the noise, and the change once.
func ExampleAnalyse() {
	x := &result.Experiment{
		Factors: []result.Factor{{Name: "governor", Levels: []string{"performance", "powersave"}, Baseline: "performance",
			Change: result.Online}},
		Responses: []result.Response{{Name: "wall", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02,
			Primary: true}},
		Contrasts: []result.Contrast{{Factors: []string{"governor"}, Levels: []string{"powersave"}, Primary: true}},
		Design:    result.Design{Kind: "rcbd", Alpha: 0.05, Looks: []int{10}, Repeats: 1},
		Cells: []result.Cell{
			{Levels: map[string]string{"governor": "performance"}},
			{Levels: map[string]string{"governor": "powersave"}},
		},
	}
	var runs []result.Run
	for block := range 10 {
		x.Blocks = append(x.Blocks, result.Block{Plots: [][]int{{0, 1}}})
		noise := 0.004 * float64(block%5-2)
		for cell, seconds := range []float64{1, 1.48 + noise} {
			runs = append(runs, result.Run{Block: block, Slot: cell, Cell: cell, Status: result.OK,
				Start: time.Unix(int64(len(runs))*10, 0), Seconds: 8, Values: map[string]float64{"wall": seconds}})
		}
	}
	for _, e := range analysis.Analyse(x, runs, &result.End{Reason: "looks"}).Effects {
		fmt.Printf("%s, %s: %+.1f %% [%+.1f, %+.1f], n = %d: %s\n", e.Contrast, e.Response.Name, 100*e.Value, 100*e.Low,
			100*e.High, e.N, e.Verdict)
	}
	// Output:
	// governor powersave, wall: +48.0 % [+47.6, +48.4], n = 10: costs_more
}
