package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// afterChange is how many runs of each stretch are left out, in which the host may still follow the level.
const afterChange = 3

// heldShare is the share of the margin within which the stretches have to agree. Where half of a cost of 3 % shows in
// the next run, stretches of 12 say none in 4 % of experiments, and with the whole margin in 8 % (bench/verdicts, laws).
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
		_, _, p := stats.Related(slices.Concat(all[1], all[2]), [][]float64{way}, x.Design.Seed)
		// What the baseline does by itself between two stretches shows nothing of the level.
		if math.Abs(d) > max(heldShare*t.margin(), math.Abs(after-before)) || p < followAlpha {
			j.settle(e)
			e.forbid(CarryOver, true)
		}
		return
	}
}
