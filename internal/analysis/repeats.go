package analysis

import (
	"math"

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
	run, boot, ok := r.costs(used, seconds)
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
		if k := stats.Repeats(c, []float64{run, boot}); len(k) == 1 {
			best = max(best, k[0])
		}
	}
	return best
}

// components splits the variance of t's response into that of the n runs of a cell
// in one boot and that of boots. It takes the differences between a level and its
// baseline, run by run, because what all boots of a superblock share cancels in
// effects; both components are twice those of a single cell.
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
	within, between, pairs := 0.0, 0.0, 0
	for _, contrast := range r.x.Contrasts {
		c, err := r.comparison(contrast)
		if err != nil || !c.plotNoise || len(contrast.Factors) != 1 {
			continue
		}
		for i := range c.level {
			var x []float64
			for _, b := range t.rows {
				level, base := values[b*t.cells+c.level[i]], values[b*t.cells+c.base[i]]
				if len(level) != n || len(base) != n {
					continue
				}
				for j := range level {
					x = append(x, level[j]-base[j])
				}
			}
			if len(x) < 2*n {
				continue
			}
			v := stats.Components(x, n, len(x)/n)
			within += v[0]
			between += v[1]
			pairs++
		}
	}
	return []float64{within / float64(pairs), between / float64(pairs)}
}

// costs returns the seconds that one more run takes and what a boot takes beside
// its runs, where a block takes the given seconds.
func (r *record) costs(used []*result.Run, seconds float64) (run, boot float64, ok bool) {
	took := make([]float64, len(used))
	for i, u := range used {
		took[i] = u.Seconds
	}
	run = stats.Median(took)
	block := r.x.Blocks[used[0].Block]
	runs := 0
	for _, p := range block.Plots {
		runs += len(p)
	}
	boot = (seconds - float64(runs)*run) / float64(len(block.Plots))
	return run, boot, run > 0 && boot > 0
}
