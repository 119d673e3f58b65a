package analysis

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/result"
)

// lab makes records: an experiment with one factor "mode", off (the baseline) or
// on, in complete blocks, and its runs.
type lab struct {
	x    *result.Experiment
	runs []result.Run
}

var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newLab() *lab {
	return &lab{x: &result.Experiment{
		Schema: result.SchemaVersion, ID: "a", Name: "test", Evidence: result.Measured,
		Factors: []result.Factor{{Name: "mode", Levels: []string{"off", "on"}, Baseline: "off", Change: result.Online}},
		Responses: []result.Response{{Name: "wall", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02,
			Primary: true}},
		Contrasts: []result.Contrast{{Factors: []string{"mode"}, Levels: []string{"on"}, Primary: true}},
		Design:    result.Design{Kind: "rcbd", Alpha: 0.05, Looks: []int{10}, Repeats: 1},
		Cells:     []result.Cell{cell("off"), cell("on")},
	}}
}

func cell(mode string) result.Cell { return result.Cell{Levels: map[string]string{"mode": mode}} }

// factorial adds a second factor "size", small (the baseline) or large.
func (l *lab) factorial() *lab {
	l.x.Factors = append(l.x.Factors, result.Factor{Name: "size", Levels: []string{"small", "large"}, Baseline: "small",
		Change: result.Online})
	l.x.Cells = nil
	for _, mode := range []string{"off", "on"} {
		for _, size := range []string{"small", "large"} {
			l.x.Cells = append(l.x.Cells, result.Cell{Levels: map[string]string{"mode": mode, "size": size}})
		}
	}
	return l
}

// result.SplitPlot turns "mode" into a factor that needs a reboot.
func (l *lab) splitPlot() *lab {
	l.x.Factors[0].Change = result.Reboot
	l.x.Design.Kind = result.SplitPlot
	return l
}

// fill plans n blocks and runs them all; value gives each run's values, one a
// response, in the responses' order.
func (l *lab) fill(n int, value func(block int, c result.Cell) []float64) *lab {
	for b := range n {
		l.x.Blocks = append(l.x.Blocks, l.plan())
		for p, plot := range l.x.Blocks[len(l.x.Blocks)-1].Plots {
			for s, c := range plot {
				values := map[string]float64{}
				for i, v := range value(b, l.x.Cells[c]) {
					values[l.x.Responses[i].Name] = v
				}
				l.runs = append(l.runs, result.Run{Block: b, Plot: p, Slot: s, Cell: c, Status: result.OK, Values: values,
					Start: started.Add(time.Duration(len(l.runs)) * 10 * time.Second), Seconds: 8})
			}
		}
	}
	return l
}

// plan makes one block: a plot for each combination of whole-plot levels.
func (l *lab) plan() result.Block {
	if l.x.Design.Kind != result.SplitPlot {
		var all []int
		for c := range l.x.Cells {
			all = append(all, c)
		}
		return result.Block{Plots: [][]int{all}}
	}
	plots := map[string][]int{}
	for c, cell := range l.x.Cells {
		key := cell.Levels["mode"]
		for range max(l.x.Design.Repeats, 1) {
			plots[key] = append(plots[key], c)
		}
	}
	var b result.Block
	for _, key := range slices.Sorted(maps.Keys(plots)) {
		b.Plots = append(b.Plots, plots[key])
	}
	return b
}

func (l *lab) analyse() *Analysis { return Analyse(l.x, l.runs, nil) }

func (l *lab) ended(reason string) *Analysis {
	return Analyse(l.x, l.runs, &result.End{Reason: reason, Blocks: len(l.x.Blocks), At: started})
}

// noisy gives one response: base in every cell, times 1+effect where mode is on,
// with log-normal noise.
func noisy(seed uint64, noise, effect float64) func(int, result.Cell) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(_ int, c result.Cell) []float64 {
		y := 3 * math.Exp(noise*rng.NormFloat64())
		if c.Levels["mode"] == "on" {
			y *= 1 + effect
		}
		return []float64{y}
	}
}

// exactly gives differences that are exactly those wanted: d[block] is the log
// ratio of on to off.
func exactly(d []float64) func(int, result.Cell) []float64 {
	return func(b int, c result.Cell) []float64 {
		if c.Levels["mode"] == "on" {
			return []float64{math.Exp(d[b])}
		}
		return []float64{1}
	}
}

// about gives n values at equal steps from centre-half to centre+half.
func about(centre, half float64, n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = centre + half*(2*float64(i)/float64(n-1)-1)
	}
	return d
}
