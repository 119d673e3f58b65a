package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
)

// law is how a run's time comes about, where the baseline and the level have each a law of its own, or where a run
// remembers. run returns the logarithm of the time of run i at the level (x 1) or the baseline (0); an effect of e lasts once the host has settled.
type law struct {
	name  string
	begin func(rng *rand.Rand, e float64) (run func(i int, x float64) float64)
	skews bool // the level's shape is another, so that no single effect is the truth
}

// each makes a law without memory of a noise for the baseline and one for the level.
func eachOwn(name string, base, level func(*rand.Rand) float64) law {
	return law{name, func(rng *rand.Rand, e float64) func(int, float64) float64 {
		return func(_ int, x float64) float64 {
			if x > 0 {
				return e + level(rng)
			}
			return base(rng)
		}
	}, false}
}

// remembers makes one in which a share of the effect waits for the runs that follow: keep is what of the state
// goes on from run to run, and delay is set where a run's own level shows in the next one only.
func remembers(name string, own, keep, sigma float64) law {
	return law{name, func(rng *rand.Rand, e float64) func(int, float64) float64 {
		state := 0.0
		return func(_ int, x float64) float64 {
			z := e*(own*x+(1-own)*state) + sigma*rng.NormFloat64()
			state = keep*state + (1-keep)*x
			return z
		}
	}, false}
}

func gauss(sd float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return sd * rng.NormFloat64() }
}

// walks is a law with noise over time that is the same for both.
func walks(name string, step func(rng *rand.Rand, i int, at float64) float64, sigma float64) law {
	return law{name, func(rng *rand.Rand, e float64) func(int, float64) float64 {
		at := 0.0
		return func(i int, x float64) float64 {
			at = step(rng, i, at)
			return e*x + at + sigma*rng.NormFloat64()
		}
	}, false}
}

func lawList() []law {
	skew := eachOwn("level skewed", gauss(0.02), func(rng *rand.Rand) float64 { return 0.04 * (rng.ExpFloat64() - 1) })
	skew.skews = true
	modes := eachOwn("level has two modes", gauss(0.005), func(rng *rand.Rand) float64 { return 0.005*rng.NormFloat64() + 0.03*float64(rng.IntN(2)) - 0.015 })
	modes.skews = true
	return []law{
		eachOwn("iid", gauss(0.02), gauss(0.02)),
		walks("ar1", func(rng *rand.Rand, _ int, at float64) float64 { return 0.8*at + 0.0268*rng.NormFloat64() }, 0),
		walks("drift", func(rng *rand.Rand, _ int, at float64) float64 { return at + 0.0005 }, 0.02),
		eachOwn("level 3 %, baseline 0.3 %", gauss(0.003), gauss(0.03)),
		eachOwn("level 6 %, baseline 2 %", gauss(0.02), gauss(0.06)),
		eachOwn("baseline 3 %, level 0.3 %", gauss(0.03), gauss(0.003)),
		eachOwn("level Student t3, baseline normal", gauss(0.02), func(rng *rand.Rand) float64 {
			return 0.02 * rng.NormFloat64() / math.Sqrt((math.Pow(rng.NormFloat64(), 2)+math.Pow(rng.NormFloat64(), 2)+math.Pow(rng.NormFloat64(), 2))/3)
		}),
		eachOwn("level uniform, baseline normal", gauss(0.02), func(rng *rand.Rand) float64 { return 0.1 * (rng.Float64() - 0.5) }),
		eachOwn("level in ticks of 0.5 %", gauss(0.02), func(rng *rand.Rand) float64 { return math.Round(rng.NormFloat64()*4) * 0.005 }),
		walks("random walk", func(rng *rand.Rand, _ int, at float64) float64 { return at + 0.02*rng.NormFloat64() }, 0.005),
		walks("a job in 1 of 7 runs", func(rng *rand.Rand, i int, _ float64) float64 { return 0.1 * float64((i%7)/6) }, 0.01),
		walks("bursts of 5 runs", func(rng *rand.Rand, _ int, at float64) float64 {
			if at > 0 && rng.IntN(5) > 0 || rng.IntN(40) == 0 {
				return 0.1
			}
			return 0
		}, 0.01),
		skew, modes,
		remembers("heat, 3 runs, noise 2 %", 0.283, 0.717, 0.02),
		remembers("heat, 3 runs, noise 0.5 %", 0.283, 0.717, 0.005),
		remembers("heat, 10 runs, noise 0.5 %", 0.095, 0.905, 0.005),
		remembers("half in the next run, noise 2 %", 0.5, 0, 0.02),
		remembers("half in the next run, noise 0.5 %", 0.5, 0, 0.005),
		remembers("all in the next run, noise 2 %", 0, 0, 0.02),
	}
}

// trial simulates one experiment by the product's plan, looks and analysis. all is set where the intervals at all looks
// hold the truth.
func (l law) trial(rng *rand.Rand, e float64) (o outcome, all bool) {
	t := trial{effects: []float64{math.Expm1(e)}}
	study := t.study(rng.Uint64())
	study.Design.Dwell = 12 // as the product has it
	head := experiment.Head(study)
	run := l.begin(rng, e)
	var runs []result.Run
	end := &result.End{Reason: "looks"}
	all = true
	make := func(b int) {
		for slot, cell := range head.Blocks[b].Plots[0] {
			runs = append(runs, result.Run{Block: b, Slot: slot, Cell: cell, Attempt: 1, Status: result.OK,
				Values: map[string]float64{"time": math.Exp(run(len(runs), float64(cell)))}})
		}
	}
	for b := range head.Planned() {
		make(b)
		if !slices.Contains(head.Design.Looks, b+1) {
			continue
		}
		end.Blocks = b + 1
		a := analysis.Analyse(head, runs, nil)
		o = t.judge(a, len(runs), b+1)
		all = all && o.covered
		if !a.Decided() && b+1 < head.Planned() {
			continue
		}
		if a.Due() {
			make(head.Planned())
			o = t.judge(analysis.Analyse(head, runs, end), len(runs), b+1)
		}
		break
	}
	return o, all
}

// laws counts wrong verdicts, coverage and what is found where each level has a law of its own, or runs remember.
func laws(w io.Writer, _ models, times int, seed uint64) (targets []target) {
	head(w, "each level has its own law, or runs remember", "law, effect", "costs more", "no effect", "costs less", "interval covers", "at all looks", "wrong size, unsaid", "runs / blocks")
	add := func(name string, s share, bound float64, least bool) {
		targets = append(targets, target{name: name, share: s, bound: bound, least: least})
	}
	for i, l := range lawList() {
		for j, e := range []float64{0, margin, 0.03, effect, 0.2} {
			remember := i >= 14
			late := l.name == "all in the next run, noise 2 %"
			if e == 0.2 && !remember || late && e != 0 && e != 0.2 || e == 0.03 && l.name == "iid" {
				continue
			}
			type both struct {
				o   outcome
				all bool
			}
			seen := many(times, seed<<16+8000+uint64(10*i+j), func(rng *rand.Rand) both { o, all := l.trial(rng, math.Log1p(e)); return both{o, all} })
			by := func(has func(outcome) bool) share { return count(seen, func(b both) bool { return has(b.o) }) }
			more, none, less := by(is(analysis.CostsMore)), by(is(analysis.NoEffect)), by(is(analysis.CostsLess))
			covers, always := by(covered), count(seen, func(b both) bool { return b.all })
			all := make([]outcome, len(seen))
			for k := range seen {
				all[k] = seen[k].o
			}
			name := fmt.Sprintf("%s, %g %%", l.name, 100*e)
			unsaid := by(func(o outcome) bool {
				return !o.covered && !o.carried && !is(analysis.NoEffect)(o) && !is(analysis.Inconclusive)(o)
			})
			row(w, name, more, none, less, covers, always, unsaid, averages(all))
			if remember && e > 0 {
				add("called no effect or less, "+name, by(func(o outcome) bool { return is(analysis.NoEffect)(o) || is(analysis.CostsLess)(o) }), 0.05, false)
				continue
			}
			if !l.skews && !remember {
				add("interval covers, "+name, covers, 0.93, true)
				add("interval covers at all looks, "+name, always, 0.93, true)
			}
			switch e {
			case 0:
				add("called an effect, "+name, by(func(o outcome) bool { return isEffect(o.verdicts[0]) }), 0.05, false)
			case margin:
				add("called beyond the margin, "+name, more, 0.05, false)
			default:
				add("called no effect, "+name, none, 0.05, false)
			}
			if short := []string{"iid", "ar1", "drift"}; slices.Contains(short, l.name) {
				switch e {
				case 0:
					add("none is found, "+name, none, 0.9, true)
				case effect:
					add("5 % is found, "+name, more, 0.99, true)
				}
			}
		}
	}
	return targets
}
