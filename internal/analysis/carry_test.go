package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hostlab/internal/result"
)

// carrying has 30 pairs in random order whose level costs direct in its own run and later in the next one.
func carrying(seed uint64, noise, direct, later float64) *lab {
	l, rng, before := newLab(), rand.New(rand.NewPCG(seed, 3)), 0.0
	l.x.Design.Seed, l.x.Design.Looks = seed, []int{30}
	l.fill(30, func(int, result.Cell) []float64 { return []float64{1} })
	for b := range l.x.Blocks {
		if rng.IntN(2) > 0 {
			slices.Reverse(l.x.Blocks[b].Plots[0])
		}
		for slot, cell := range l.x.Blocks[b].Plots[0] {
			run := &l.runs[2*b+slot]
			run.Slot, run.Cell = slot, cell
			run.Values = map[string]float64{"wall": math.Exp(direct*float64(cell) + later*before + noise*rng.NormFloat64())}
			before = float64(cell)
		}
	}
	return l
}

// What a level leaves to the next run forbids "no effect" and an effect that goes the other way; one that goes on
// in its own direction is larger than it looks.
func TestCarryOver(t *testing.T) {
	for name, c := range map[string]struct {
		direct, later float64
		want          Verdict
		limit         bool
	}{
		"nothing goes on":        {0.05, 0, CostsMore, false},
		"no effect":              {0, 0, NoEffect, false},
		"half in the next run":   {0.015, 0.015, Inconclusive, true},
		"all in the next run":    {0, 0.2, Inconclusive, true},
		"more than what goes on": {0.2, 0.05, CostsMore, true},
	} {
		e := carrying(2, 0.005, c.direct, c.later).analyse().Effects[0]
		if e.Verdict != c.want || slices.Contains(e.Limits, CarryOver) != c.limit || (e.Carried != nil) != c.limit ||
			(e.SettleRuns > 0) != c.limit {
			t.Errorf("%s: %s, %v, %v, %+v", name, e.Verdict, e.Estimate, e.Limits, e.Carried)
		}
	}
}

// The runs' starts tell which run came before, not their order in the file.
func TestCarryOverByStart(t *testing.T) {
	l := carrying(2, 0.005, 0.2, 0.05)
	for i := range l.runs {
		l.runs[i].Start = time.Unix(int64(i), 0)
	}
	want := l.analyse().Effects[0].Carried
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(l.runs), func(i, j int) { l.runs[i], l.runs[j] = l.runs[j], l.runs[i] })
	if got := l.analyse().Effects[0].Carried; want == nil || got == nil || got.Rho != want.Rho || got.Runs != want.Runs {
		t.Errorf("%+v of shuffled runs, want %+v", got, want)
	}
}

// The wait after a change comes from how fast the host follows, and from how long a run takes.
func TestSettle(t *testing.T) {
	x := &result.Experiment{Blocks: []result.Block{{Plots: [][]int{{0, 1}}}}}
	for _, c := range []struct {
		carried *Carried
		want    float64
	}{{nil, 90}, {&Carried{}, 10}, {&Carried{Runs: 3}, 90}} {
		e, j := Effect{Carried: c.carried}, judge{record: &record{x: x}, seconds: 20}
		if j.settle(&e); e.Settle != c.want {
			t.Errorf("%+v: %g s, want %g", c.carried, e.Settle, c.want)
		}
	}
}

// A host that follows the level with a time constant of 3 runs shows a part of what it costs in pairs: "no effect"
// waits for the runs that hold the level, and is given only where those differ by less than the margin.
func TestHeldLevel(t *testing.T) {
	for name, c := range map[string]struct {
		held float64
		want Verdict
	}{"settled": {0, NoEffect}, "follows slowly": {0.05, Inconclusive}} {
		l := carrying(2, 0.005, 0, 0)
		stretches := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}
		l.x.Design.Dwell, l.x.Blocks = 5, append(l.x.Blocks, result.Block{Plots: [][]int{stretches}})
		a := l.analyse()
		if !a.Due() || !a.Decided() || !a.Asks(stretches) || a.Effects[0].Verdict != Inconclusive ||
			!slices.Contains(a.Effects[0].Limits, Unheld) {
			t.Fatalf("%s: due %v, decided %v, %+v", name, a.Due(), a.Decided(), a.Effects[0])
		}
		for slot, cell := range stretches {
			l.runs = append(l.runs, result.Run{Block: 30, Slot: slot, Cell: cell, Status: result.OK,
				Values: map[string]float64{"wall": math.Exp(c.held*float64(cell) + 0.001*float64(slot%2))}})
		}
		a = l.analyse()
		e := a.Effects[0]
		if a.Due() || a.Blocks != 30 || e.Verdict != c.want || slices.Contains(e.Limits, CarryOver) != (c.held > 0) ||
			math.Abs(e.Held.Value-c.held) > 0.003 {
			t.Errorf("%s: %s, %v, %+v", name, e.Verdict, e.Limits, e.Held)
		}
	}
}

// A host that follows the level with a time constant of 3 runs shows a sixth of an effect of 20 % in pairs. Runs tell
// that they go with the levels of the runs before, and do so by chance alone where noise wanders.
func TestFollowsSlowly(t *testing.T) {
	seen, chance := 0, 0
	const times = 60
	for seed := range uint64(times) {
		for _, size := range []float64{0.2, 0} {
			l, rng, state, wander := carrying(seed, 0, 0, 0), rand.New(rand.NewPCG(seed, 5)), 0.0, 0.0
			for i := range l.runs {
				cell := float64(l.runs[i].Cell)
				wander = 0.8*wander + 0.01*rng.NormFloat64()
				z := size*(0.283*cell+0.717*state) + wander + 0.1*cell + 0.01*rng.NormFloat64()
				state = 0.717*state + 0.283*cell
				l.runs[i].Values["wall"] = math.Exp(z)
			}
			e := l.analyse().Effects[0]
			switch {
			case e.Carried == nil:
			case size > 0:
				seen++
			default:
				chance++
			}
		}
	}
	if seen < times-6 || chance > 9 { // 3 are expected by chance
		t.Errorf("of %d: %d seen, %d by chance", times, seen, chance)
	}
}

// Where every block has the same order, a run's own level tells the one before it, and nothing can be told apart.
func TestFixedOrder(t *testing.T) {
	l := carrying(2, 0.005, 0, 0.2)
	for b := range l.x.Blocks {
		l.x.Blocks[b].Plots[0] = []int{0, 1}
		for slot := range 2 {
			run := &l.runs[2*b+slot]
			run.Slot, run.Cell = slot, slot
		}
	}
	if e := l.analyse().Effects[0]; e.Carried != nil {
		t.Errorf("%+v", e.Carried)
	}
}
