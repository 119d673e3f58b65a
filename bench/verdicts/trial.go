package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/bench/verdicts/noise"
	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
)

// trial is a simulated experiment: the product's own design, stopping rule and
// analysis, with times that come from a model.
type trial struct {
	model   noise.Model
	effects []float64     // true effects of the levels beside the baseline, as fractions
	change  result.Change // of the factor
	inner   bool          // a second factor inside the boots
	innerAt float64       // its effect, at the first level beside the baseline only
	boot    float64       // standard deviation of what a boot does to all its runs
	looks   []int
	repeats int
	others  float64                                                                               // share of the noise's variance that the time explains which others take; above 0, effects are adjusted for it
	moves   float64                                                                               // what the level adds to that time, in its standard deviations
	trap    func(rng *rand.Rand, z float64, level bool, way float64) (value float64, failed bool) // of a run; nil: its time is exp(z)
}

// outcome is what became of one trial.
type outcome struct {
	verdicts []analysis.Verdict // of the primary contrasts, in order
	covered  bool               // all primary intervals hold their true effects
	runs     int
	blocks   int
	carried  bool             // of a primary effect, the report says that its size is not known
	stalled  bool             // a run at a level took more than thrice as long
	inner    analysis.Verdict // of the factor inside the boots
	// innerCovered is set where its interval holds its mean effect over all boots.
	innerCovered bool
}

// Looks of one factor in blocks, and those of split plots here.
var defaultLooks, plotLooks = []int{9, 10, 11, 12, 14, 17, 20, 25, 30, 37, 45}, []int{10, 14, 20, 30}

const margin = 0.02

func (t trial) study(seed uint64) *experiment.Study {
	levels := []string{"base"}
	for i := range t.effects {
		levels = append(levels, fmt.Sprint("level", i+1))
	}
	s := &experiment.Study{
		Name:      "simulated",
		Evidence:  result.Emulated,
		Design:    result.Design{Kind: "rcbd", Seed: seed, Alpha: 0.05, Looks: t.looks, Repeats: max(1, t.repeats), Adjust: t.others > 0},
		Factors:   []experiment.Factor{{Factor: result.Factor{Name: "x", Kind: "parameter", Levels: levels, Baseline: "base", Change: t.change}}},
		Responses: []experiment.Response{{Response: result.Response{Name: "time", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: margin, Primary: true}, Scale: 1}},
	}
	if t.change.WholePlot() {
		s.Design.Kind = "split-plot"
	}
	if s.Design.Looks == nil {
		s.Design.Looks = defaultLooks
		if t.change.WholePlot() {
			s.Design.Looks = plotLooks
		}
	}
	for _, l := range levels[1:] {
		s.Contrasts = append(s.Contrasts, result.Contrast{Factors: []string{"x"}, Levels: []string{l}, Primary: true})
	}
	if t.inner {
		s.Factors = append(s.Factors, experiment.Factor{Factor: result.Factor{Name: "y", Kind: "parameter", Levels: []string{"base", "other"}, Baseline: "base", Change: result.Online}})
		s.Contrasts = append(s.Contrasts, result.Contrast{Factors: []string{"y"}, Levels: []string{"other"}, Primary: true})
	}
	return s
}

// run does the trial once.
func (t trial) run(rng *rand.Rand) outcome {
	head := experiment.Head(t.study(rng.Uint64()))
	truth := map[string]float64{}
	for i, e := range t.effects {
		truth[fmt.Sprint("level", i+1)] = math.Log1p(e)
	}

	total := 0
	for _, b := range head.Blocks {
		for _, p := range b.Plots {
			total += len(p)
		}
	}
	noises := t.model.Series(rng, total)
	var runs, again []result.Run // again: that failed, and were made again
	stalled := false
	end := &result.End{Reason: "looks"}
	for b, block := range head.Blocks {
		for p, plot := range block.Plots {
			boot := t.boot * rng.NormFloat64()
			for slot, cell := range plot {
				levels := head.Cells[cell].Levels
				z := noises[len(runs)] + boot + truth[levels["x"]]
				if levels["x"] == "level1" && levels["y"] == "other" {
					z += math.Log1p(t.innerAt)
				}
				run := result.Run{Block: b, Plot: p, Slot: slot, Cell: cell, Attempt: 1, Status: result.OK,
					Start: time.Unix(int64(len(runs)), 0), Seconds: math.Exp(z), Boot: fmt.Sprint(b, "-", p)}
				value := math.Exp(z)
				for failed := t.trap != nil; failed; {
					if value, failed = t.trap(rng, z, levels["x"] != "base", float64(b)/float64(len(head.Blocks)-1)); failed {
						bad := run
						bad.Status, bad.Reason = result.Failed, "timeout"
						again = append(again, bad)
						run.Attempt++
					}
				}
				stalled = stalled || value > 3 && levels["x"] != "base"
				if t.others > 0 {
					taken := rng.NormFloat64()
					if levels["x"] != "base" {
						taken += t.moves
					}
					own := noises[len(runs)] * (math.Sqrt(1-t.others) - 1)
					value *= math.Exp(own + noise.Sigma*math.Sqrt(t.others)*taken)
					run.Conditions = map[string]float64{"steal": 0.1 + 0.01*taken}
				}
				run.Values = map[string]float64{"time": value}
				runs = append(runs, run)
			}
		}
		if !slices.Contains(head.Design.Looks, b+1) {
			continue
		}
		end.Blocks = b + 1
		if b+1 < len(head.Blocks) && analysis.Analyse(head, slices.Concat(again, runs), nil).Decided() {
			end.Reason = "resolved"
			break
		}
	}
	o := t.judge(analysis.Analyse(head, slices.Concat(again, runs), end), len(runs)+len(again), end.Blocks)
	o.stalled = stalled
	return o
}

func (t trial) judge(a *analysis.Analysis, runs, blocks int) outcome {
	o := outcome{covered: true, runs: runs, blocks: blocks}
	for _, e := range a.Effects {
		if !e.Contrast.Primary {
			continue
		}
		if e.Contrast.Factors[0] == "y" {
			o.inner = e.Verdict
			o.innerCovered = holds(e, math.Expm1(math.Log1p(t.innerAt)/float64(1+len(t.effects))))
			continue
		}
		truth := math.Expm1(math.Log1p(t.effects[len(o.verdicts)]) + t.moved())
		if len(o.verdicts) == 0 && t.inner { // the mean over both levels inside
			truth = math.Expm1(math.Log1p(truth) + math.Log1p(t.innerAt)/2)
		}
		o.verdicts = append(o.verdicts, e.Verdict)
		o.covered = o.covered && holds(e, truth)
		o.carried = o.carried || slices.Contains(e.Limits, analysis.CarryOver)
	}
	if len(o.verdicts) != len(t.effects) {
		panic(fmt.Sprintf("%d primary effects of %d", len(o.verdicts), len(t.effects)))
	}
	return o
}

// moved is what a level costs by moving the time that others take.
func (t trial) moved() float64 { return t.moves * noise.Sigma * math.Sqrt(t.others) }

// holds reports whether the interval of e holds the truth; none claims nothing.
func holds(e analysis.Effect, truth float64) bool {
	return math.IsNaN(e.Low) || math.IsNaN(e.High) || truth >= e.Low && truth <= e.High
}

func isEffect(v analysis.Verdict) bool {
	return v == analysis.CostsMore || v == analysis.CostsLess
}

// falsely reports whether a level without an effect was called one.
func (t trial) falsely(o outcome) bool {
	for i, v := range o.verdicts {
		if t.effects[i] == 0 && isEffect(v) {
			return true
		}
	}
	return false
}

// found reports whether every level with an effect beyond the margin was called so.
func (t trial) found(o outcome) bool {
	for i, v := range o.verdicts {
		if t.effects[i] > margin && v != analysis.CostsMore || t.effects[i] < -margin && v != analysis.CostsLess {
			return false
		}
	}
	return true
}
