package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// switched makes a record of n pairs of 5 minutes each: value gives log cost and load of a period, by its start in
// seconds.
func switched(rng *rand.Rand, n int, value func(seconds float64, level bool) (cost, load float64)) *lab {
	l := newLab()
	l.x.Design = result.Design{Kind: "switchback", Alpha: 0.05, Looks: []int{10, 14, 20, 30}, Repeats: 1, Load: "load"}
	l.x.Cells = l.x.Cells[:2]
	l.x.Responses = append(l.x.Responses, result.Response{Name: "load", Unit: "1/s", Better: "higher",
		Compare: result.Ratio, Margin: 0.02})
	for b := range n {
		l.x.Blocks = append(l.x.Blocks, result.Block{Plots: [][]int{rng.Perm(2)}})
		for slot, c := range l.x.Blocks[b].Plots[0] {
			start := time.Duration(2*b+slot) * 7 * time.Minute
			cost, load := value(start.Seconds(), c == 1)
			l.runs = append(l.runs, result.Run{Block: b, Slot: slot, Cell: c, Status: result.OK, Start: started.Add(start),
				Seconds: 300,
				Values:  map[string]float64{"wall": math.Exp(cost), "load": math.Exp(load)}})
		}
	}
	return l
}

// day is a service whose load goes up and down by 60 % in a day and that costs more the more is asked of it.
func day(rng *rand.Rand, effect, slope float64) func(float64, bool) (float64, float64) {
	return func(at float64, level bool) (cost, load float64) {
		load = math.Log(1 + 0.6*math.Sin(2*math.Pi*at/86400))
		cost = slope*load + 0.01*rng.NormFloat64()
		if level {
			cost += math.Log1p(effect)
		}
		return cost, load
	}
}

func TestSwitchbackIsAdjustedForTheDay(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	l := switched(rng, 30, day(rng, 0.05, 2))
	e := l.analyse().Effects[0]
	if !e.Contains(0.05) || e.Verdict != CostsMore || e.Unit != "pairs" || e.N != 30 {
		t.Errorf("%s %v, %s", e.Verdict, e.Estimate, e.Unit)
	}
	if e.Adjusted == nil || e.Adjusted.Load != "load" || e.Adjusted.Explained < 0.3 || e.Adjusted.Moved {
		t.Errorf("adjusted: %+v", e.Adjusted)
	}
	l.x.Design.Load = ""
	plain := l.analyse().Effects[0]
	if plain.Adjusted != nil || plain.High-plain.Low < 1.2*(e.High-e.Low) || !plain.Contains(0.05) {
		t.Errorf("without the load %v, with it %v", plain.Estimate, e.Estimate)
	}
	if r := l.analyse().Effects[1]; r.Adjusted != nil {
		t.Errorf("the load is adjusted for itself: %+v", r.Adjusted)
	}
}

func TestSwitchbackWithoutALoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := switched(rng, 30, day(rng, 0.05, 0))
	l.runs[3].Values["load"] = 0
	a := l.analyse()
	if a.Effects[0].Adjusted != nil || !slices.ContainsFunc(a.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "nothing is adjusted for load")
	}) {
		t.Errorf("%+v, warnings %q", a.Effects[0].Adjusted, a.Warnings)
	}
}

// In a closed loop the load falls where the level is slower; the effect is still found, as each pair has the level
// once.
func TestSwitchbackInAClosedLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	const effect = 0.05
	covered := 0
	for range 200 {
		open := day(rng, effect, 1)
		e := switched(rng, 30, func(at float64, level bool) (cost, load float64) {
			cost, load = open(at, level)
			return cost, load - 0.9*(cost-load) // what costs more is asked for less
		}).analyse().Effects[0]
		if e.Contains(effect) {
			covered++
		}
	}
	if covered < 185 {
		t.Errorf("%d of 200 intervals hold the effect", covered)
	}
}

func TestSwitchbackEndsByHarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := switched(rng, 10, day(rng, 0, 0))
	i := slices.IndexFunc(l.runs, func(r result.Run) bool { return r.Cell == 1 })
	l.runs[i].Harm, l.runs[i].Seconds, l.runs[i].Values["wall"] = "wall is 9 s", 40, 9
	l.runs[i].Before, l.runs[i].After = map[string]string{"mode": "on"}, map[string]string{"mode": "off"}
	a := l.ended(result.Harmed)
	if slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "something else changes it") }) {
		t.Errorf("hostlab itself brought the baseline back: %q", a.Warnings)
	}
	if a.Outcome() != Open || a.Harms() || len(a.Struck) != 1 {
		t.Errorf("one bad period of ten decides: outcome %v, struck %+v", a.Outcome(), a.Struck)
	}
	a.Effects[0].Verdict = CostsMore
	if a.Outcome() != Beyond || !a.Harms() {
		t.Errorf("the comparison agrees, and the outcome is %v", a.Outcome())
	}
	testkit.Is(t, (Struck{Pair: 1, Level: "mode on", Seconds: 40, Why: "wall is 9 s"}), a.Struck[0])
	if e := a.Effects[0]; e.N != 10 || slices.Max(e.Differences) < 0.5 {
		t.Errorf("a period that ended early does not count as its level: n = %d, %v", e.N, e.Differences)
	}
}

// Where the coins fell nearly as the load went, the orders of six pairs refuse no effect, however large. What a
// decision would take follows from the scatter, and is not just the next pair.
func TestSwitchbackUnbounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	loads := []float64{0, 1, 2.4, -1, 0, 1.5}
	l := switched(rng, 6, func(at float64, _ bool) (cost, load float64) {
		return 0.01 * rng.NormFloat64(), loads[int(at)/(14*60)]
	})
	l.x.Design.Looks = []int{6}
	for b, second := range []int{1, 1, 0, 0, 1, 1} {
		l.x.Blocks[b].Plots[0] = []int{1 - second, second}
		l.runs[2*b].Cell, l.runs[2*b+1].Cell = 1-second, second
	}
	e := l.analyse().Effects[0]
	if e.Verdict != Inconclusive || e.Reason.Kind != Unbounded || !math.IsNaN(e.Low) || !math.IsNaN(e.High) ||
		e.Need != 46 {
		t.Errorf("%s, %+v, %v, need %d", e.Verdict, e.Reason, e.Estimate, e.Need)
	}
}
