package analysis

import (
	"maps"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// NominalAlpha is that of intervals that hold each by itself, as those of combinations.
const NominalAlpha = 0.05

// Combination is one cell of the design in one response.
type Combination struct {
	Levels  map[string]string `json:"levels"`
	Median  result.Estimate   `json:"median"`       // of the blocks' means, without an interval
	Marked  int               `json:"contaminated"` // runs
	Against []Change          `json:"against"`
}

// Change compares a combination with the one that has a factor's baseline instead.
type Change struct {
	Factor   string          `json:"factor"`
	Baseline string          `json:"baseline"`
	Effect   result.Estimate `json:"effect"` // a fraction for ratios, else in the response's unit
}

// Combinations returns every combination of levels with its median of a response, and
// what it costs against the baseline of each factor where the others are at the same
// levels, in the record's order. It is the table in which Olontsev (2012) sets BIOS,
// power plan and degree of parallelism beside each other.
func Combinations(x *result.Experiment, runs []result.Run, r *result.Response) (out []Combination) {
	values := BlockMeans(x, runs, r)
	for i := range x.Cells {
		c := Combination{Levels: x.Cells[i].Levels, Median: result.Unknown(), Against: []Change{}}
		c.Median.N = len(values[i])
		c.Median.Value = scale{*r}.level(stats.Median(slices.Collect(maps.Values(values[i]))))
		for k := range runs {
			if runs[k].Cell == i && runs[k].Contaminated != "" {
				c.Marked++
			}
		}
		for _, f := range x.Factors {
			if j := besides(x, i, f.Name, f.Baseline); j >= 0 && c.Levels[f.Name] != f.Baseline {
				c.Against = append(c.Against, Change{f.Name, f.Baseline, paired(x, r, values[i], values[j])})
			}
		}
		out = append(out, c)
	}
	return out
}

// BlockMeans returns, for each cell of the record, the means of a response over the
// cell's runs in each block: of logarithms where the response is compared by ratio,
// else of values. A block whose runs have no value to take is not in the map.
func BlockMeans(x *result.Experiment, runs []result.Run, r *result.Response) []map[int]float64 {
	sum, count := make([]map[int]float64, len(x.Cells)), make([]map[int]float64, len(x.Cells))
	for i := range sum {
		sum[i], count[i] = map[int]float64{}, map[int]float64{}
	}
	for i := range runs {
		run := &runs[i]
		v, ok := run.Values[r.Name]
		if r.Compare != result.Difference {
			v = math.Log(v)
		}
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) || run.Cell < 0 || run.Cell >= len(sum) {
			continue
		}
		sum[run.Cell][run.Block] += v
		count[run.Cell][run.Block]++
	}
	for i := range sum {
		for b, n := range count[i] {
			sum[i][b] /= n
		}
	}
	return sum
}

// besides is the cell that differs from cell i by a level of one factor, or -1.
func besides(x *result.Experiment, i int, factor, level string) int {
	want := maps.Clone(x.Cells[i].Levels)
	want[factor] = level
	return slices.IndexFunc(x.Cells, func(c result.Cell) bool { return maps.Equal(c.Levels, want) })
}

// paired compares two cells within the blocks that have both.
func paired(x *result.Experiment, r *result.Response, level, base map[int]float64) result.Estimate {
	return scale{*r}.estimate(pairedInterval(x, pairs(level, base), NominalAlpha))
}

// pairs are the differences between two cells, one for each block that has both.
func pairs(level, base map[int]float64) []float64 {
	var d []float64
	for _, b := range slices.Sorted(maps.Keys(level)) {
		if v, ok := base[b]; ok {
			d = append(d, level[b]-v)
		}
	}
	return d
}

// Student reports whether an interval is Student's, as the analysis has it for the few
// superblocks of a split plot: ranks would have none, and Student's needs only two.
func Student(x *result.Experiment, n int, alpha float64) bool {
	return x.Design.Kind == result.SplitPlot && n >= 2 && n < stats.MinBlocks(alpha)
}

func pairedInterval(x *result.Experiment, d []float64, alpha float64) result.Estimate {
	if Student(x, len(d), alpha) {
		return stats.PairedT(d, alpha)
	}
	return stats.HodgesLehmann(d, alpha)
}
