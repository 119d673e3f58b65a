package analysis

import (
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// aa compares the baseline with itself in the response of t, by the pairs that were made for it: two runs each, or
// two boots in a split plot. Which of them is taken from the other is by the block's seed, so that drift from
// the first to the second is noise, as it is where levels come in random order.
func (j *judge) aa(t *table) AA {
	x := j.record.x
	a := AA{Response: t.response, Unit: "pairs", Floor: math.NaN(), Finds: math.NaN()}
	first := x.Planned()
	sum, n := map[[2]int]float64{}, map[[2]int]float64{}
	for _, run := range j.record.runs {
		y, ok := run.Values[t.response.Name]
		if z, reason := t.value(y); ok && reason == "" && run.Block >= first && run.Block < first+x.Design.AA {
			side := run.Slot
			if x.Design.Kind == result.SplitPlot {
				side = run.Plot
			}
			sum[[2]int{run.Block, side}] += z
			n[[2]int{run.Block, side}]++
		}
	}
	var d []float64
	for b := first; b < first+x.Design.AA; b++ {
		one, two := [2]int{b, int(x.Blocks[b].Seed & 1)}, [2]int{b, 1 - int(x.Blocks[b].Seed&1)}
		if n[one] > 0 && n[two] > 0 {
			d = append(d, sum[one]/n[one]-sum[two]/n[two])
		}
	}
	iv := stats.HodgesLehmann(d, NominalAlpha)
	if len(d) < stats.MinBlocks(NominalAlpha) {
		iv = stats.PairedT(d, NominalAlpha)
	}
	a.Estimate = t.estimate(iv)
	a.Floor = max(math.Abs(a.Low), math.Abs(a.High)) // NaN where there is no interval
	if s := stats.Spread(d); s > 0 && t.response.Primary {
		a.Finds = t.effect(t.margin() + stats.Detectable(s, first, j.last, power))
	}
	return a
}
