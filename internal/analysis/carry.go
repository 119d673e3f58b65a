package analysis

import (
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Carried is what the levels before a run left in it.
type Carried struct {
	P float64 // of nothing
	// rank correlation of the differences with those levels; above 0: they went on as the effect's sign has it
	Rho  float64
	Runs float64 // time constant of what was seen, in runs; 0: the run before alone
}

// settles is after how many runs 5 % of what a host follows with that time constant is left.
func (c *Carried) settles() float64 {
	switch {
	case c == nil: // it was seen where the level is held, and how fast the host follows is not known
		return afterChange
	case c.Runs == 0:
		return 1
	}
	return 3 * c.Runs
}

// settle notes how long the next study had better wait after a change, in all: the time of runs holds what was waited
// here.
func (j *judge) settle(e *Effect) {
	n := 0
	for _, plot := range j.record.x.Blocks[0].Plots {
		n += len(plot)
	}
	e.SettleRuns = e.Carried.settles()
	e.Settle = e.SettleRuns * j.seconds / float64(n)
}

// keeps are how much of the levels' history goes on from run to run: of the run before alone, and with time
// constants of 1.4, 3 and 10 runs.
var keeps = []struct{ share, runs float64 }{{0, 0}, {0.5, 1.4}, {0.72, 3}, {0.9, 10}}

const carryAlpha = 0.05

// carried judges whether the differences of e go with the levels of the runs before: with pairs in random order, each
// run follows another history, and without carry-over no history tells anything of a difference.
func (j *judge) carried(e *Effect, c comparison) {
	r := j.record
	if r.x.Design.Kind == result.SplitPlot || c.pairs() || len(c.level) == 0 || len(e.Differences) != len(j.rows) ||
		e.Verdict == Inconclusive {
		return
	}
	var lists [][]float64
	for _, k := range keeps {
		before, at := make([]float64, len(r.order)), 0.0
		for i, cell := range r.order {
			before[i] = at
			at *= k.share
			if slices.Contains(c.level, cell) {
				at += 1 - k.share
			}
		}
		sum := map[int]float64{} // block -> what went before the level less what went before the baseline
		for i, run := range r.runs {
			for _, w := range c.weights {
				if w.cell == run.Cell {
					sum[run.Block] += w.w * before[r.place[i]]
				}
			}
		}
		list := make([]float64, len(j.rows))
		for i, b := range j.rows {
			list[i] = sum[b]
		}
		lists = append(lists, list)
	}
	if often := mostTied(lists[0]); often*float64(len(j.rows)) > float64(len(j.rows)-3) {
		return // the order hardly varies
	}
	which, rho, p := stats.Related(e.Differences, lists, r.x.Design.Seed)
	if p >= carryAlpha {
		return
	}
	e.Carried = &Carried{P: p, Rho: rho, Runs: keeps[which].runs}
	j.settle(e)
	// What goes on in the direction of the effect makes it look smaller than it is: the verdict stands, its size does not.
	e.forbid(CarryOver, e.Verdict == NoEffect || rho*e.Value < 0)
}
