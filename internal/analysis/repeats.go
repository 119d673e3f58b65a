package analysis

import (
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// repeats returns how often a cell is best run in each boot of a split plot, for
// the primary response that wants it most often; 0 when not known. A design that
// ran every cell once cannot tell runs from boots, and where boots do not vary, runs
// are as good as boots and any number will do.
func (r *record) repeats(used []*result.Run, tables []*table, seconds float64) int {
	n := r.x.Design.Repeats
	if r.x.Design.Kind != splitPlot || n < 2 || len(used) == 0 {
		return 0
	}
	repeat, boot, ok := r.costs(used, seconds)
	if !ok {
		return 0
	}
	best := 0
	for _, t := range tables {
		if !t.response.Primary {
			continue
		}
		c := r.components(used, t, n)
		if math.IsNaN(c[0]) || math.IsNaN(c[1]) {
			continue
		}
		if k := stats.Repeats(c, []float64{repeat, boot}); len(k) == 1 {
			best = max(best, k[0])
		}
	}
	return best
}

// components splits the variance of t's response into that of the n repeats in one
// boot and that of boots. It takes the differences that effects are made of, one for
// each repeat: the mean over a contrast's cells at the level less that at the
// baseline. What all boots of a superblock share cancels in them, and k cells in each
// boot vary like one cell repeated k times, so that fewer repeats will do.
func (r *record) components(used []*result.Run, t *table, n int) []float64 {
	values := make([][]float64, len(r.x.Blocks)*t.cells)
	for _, run := range used {
		if y, ok := run.Values[t.response.Name]; ok {
			if z, reason := t.value(y); reason == "" {
				k := run.Block*t.cells + run.Cell
				values[k] = append(values[k], z)
			}
		}
	}
	within, between, contrasts := 0.0, 0.0, 0.0
	for _, contrast := range r.x.Contrasts {
		c, err := r.comparison(contrast)
		if err != nil || !c.plotNoise || len(contrast.Factors) != 1 {
			continue
		}
		var x []float64
		for _, b := range t.rows {
			if slices.ContainsFunc(c.weights, func(w weight) bool { return len(values[b*t.cells+w.cell]) != n }) {
				continue
			}
			for j := range n {
				sum := 0.0
				for _, w := range c.weights {
					sum += w.w * values[b*t.cells+w.cell][j]
				}
				x = append(x, sum)
			}
		}
		if len(x) < 2*n {
			continue
		}
		v := stats.Components(x, n, len(x)/n)
		within += v[0]
		between += v[1]
		contrasts++
	}
	return []float64{within / contrasts, between / contrasts}
}

// costs returns the seconds that one more repeat of all cells of a boot takes and
// what a boot takes beside its runs, where a block takes the given seconds.
func (r *record) costs(used []*result.Run, seconds float64) (repeat, boot float64, ok bool) {
	took := make([]float64, len(used))
	for i, u := range used {
		took[i] = u.Seconds
	}
	run := stats.Median(took)
	block := r.x.Blocks[used[0].Block]
	runs, most := 0, 0
	for _, p := range block.Plots {
		runs += len(p)
		most = max(most, len(p))
	}
	repeat = run * float64(most) / float64(r.x.Design.Repeats)
	boot = (seconds - float64(runs)*run) / float64(len(block.Plots))
	return repeat, boot, repeat > 0 && boot > 0
}
