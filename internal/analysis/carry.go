package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Carried is what the levels before a run left in it.
type Carried struct {
	P    float64 // of nothing
	Rho  float64 // correlation of the runs' ranks with those levels; above 0: a run is larger after the level
	Runs float64 // time constant of what was seen, in runs; 0: the run before alone
}

// settles is after how many runs 5 % of what a host follows with that time constant is left.
func (c *Carried) settles() float64 {
	switch {
	case c == nil: // it was seen where the level is held alone: what changes faster shows in the other runs, too
		return slowly
	case c.Runs == 0:
		return 1
	}
	return 3 * c.Runs
}

// slowly is how many runs a host takes that follows with a time constant of 3 runs.
const slowly = 9

// settle notes how long the next study had better wait after a change, in all: the time of runs holds what was waited
// here.
func (j *judge) settle(e *Effect) {
	e.SettleRuns = e.Carried.settles()
	e.Settle = e.SettleRuns * j.seconds / float64(j.record.x.Blocks[0].Runs())
}

// keeps are how much of the levels' history goes on from run to run: of the run before alone, and with time
// constants of 1.4, 3 and 10 runs.
var keeps = []struct{ share, runs float64 }{{0, 0}, {0.5, 1.4}, {0.72, 3}, {0.9, 10}}

const carryAlpha = 0.05

// carried judges whether runs go with the levels of those before them: the order within a block is random, and without
// carry-over no order tells anything of a run but its own level.
func (j *judge) carried(e *Effect, t *table, c comparison) {
	if j.record.x.Design.Kind == result.SplitPlot || c.pairs() || len(c.level) == 0 || e.Verdict == Inconclusive {
		return
	}
	f := j.following(t, c)
	if f == nil {
		return
	}
	which, rho, p := f.test(j.record.x.Design.Seed)
	if p >= carryAlpha {
		return
	}
	e.Carried = &Carried{P: p, Rho: rho, Runs: keeps[which].runs}
	j.settle(e)
	// What goes on in the direction of the effect makes it look smaller than it is: the verdict stands, its size does not.
	e.forbid(CarryOver, e.Verdict == NoEffect || rho*e.Value < 0)
}

// afterChange is how many runs of each stretch are left out, in which the host may still follow the level.
const afterChange = 3

// heldShare is the share of the margin within which the stretches have to agree. Where half of a cost of 3 % shows in
// the next run, stretches of 12 say none in 4 % of experiments, and with the whole margin in 8 % (bench/verdicts,
// laws).
const heldShare = 0.85

// followAlpha is that of the test whether runs in a stretch go on to follow the level. It costs claims of none alone.
const followAlpha = 0.01

// Due reports whether effects would be none, and the stretches that have to show it are not made.
func (a *Analysis) Due() bool {
	return slices.ContainsFunc(a.Effects, func(e Effect) bool { return e.Primary() && e.due > 0 })
}

// Asks reports whether a plot of the block of stretches is for an effect that is due.
func (a *Analysis) Asks(plot []int) bool {
	return a == nil || slices.ContainsFunc(a.Effects, func(e Effect) bool {
		return e.Primary() && e.due > 0 && slices.Contains(plot, e.due-1)
	})
}

// held judges "no effect" by the stretches in which the level of c was held: where the host follows a level slowly,
// pairs show a part of what it costs. The difference of their typical runs has to be well within the margin, and no
// run may still be on its way.
func (j *judge) held(e *Effect, t *table, c comparison) {
	x := j.record.x
	if x.Design.Dwell == 0 || !e.Primary() || e.Verdict != NoEffect {
		return
	}
	b, n := len(x.Blocks)-1, x.Design.Dwell
	for p, plot := range x.Blocks[b].Plots {
		if len(plot) != 3*n || !slices.Contains(c.level, plot[n]) {
			continue
		}
		var all, of [3][]float64 // the runs of each stretch, and the last ones
		var way []float64        // of a host that follows each change
		for _, run := range j.record.runs {
			y, ok := run.Values[t.response.Name]
			v, reason := t.value(y)
			if !ok || reason != "" || run.Block != b || run.Plot != p {
				continue
			}
			stretch, at := run.Slot/n, run.Slot%n
			all[stretch] = append(all[stretch], v)
			if at >= min(afterChange, n-1) {
				of[stretch] = append(of[stretch], v)
			}
			if stretch > 0 {
				way = append(way, float64(3-2*stretch)*(float64(at)-float64(n-1)/2))
			}
		}
		if least := n - min(afterChange, n-1); len(of[0]) < least || len(of[1]) < least || len(of[2]) < least {
			e.due = plot[n] + 1
			e.forbid(Unheld, true)
			return
		}
		typical := func(z []float64) float64 { return stats.HodgesLehmann(z, NominalAlpha).Value }
		before, after := typical(of[0]), typical(of[2])
		d := typical(of[1]) - (before+after)/2
		e.Held = t.estimate(result.Estimate{Value: d, Low: math.NaN(), High: math.NaN(), N: len(of[1])})
		for _, list := range all[1:] { // how they go on
			floats.AddConst(-stats.Mean(list), list)
		}
		p := stats.Related(slices.Concat(all[1], all[2]), way, x.Design.Seed)
		// What the baseline does by itself between two stretches shows nothing of the level.
		if math.Abs(d) > max(heldShare*t.margin(), math.Abs(after-before)) || p < followAlpha {
			j.settle(e)
			e.forbid(CarryOver, true)
		}
		return
	}
}
