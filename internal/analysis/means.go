package analysis

import (
	"math"

	"hostlab/internal/result"
)

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
