package main

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/bench/verdicts/noise"
	"hostlab/internal/analysis"
)

// trap is a way to lose a true effect of 3 % before the analysis sees it, or to make it
// look like less: the level costs 3 % more on average over all runs that were begun.
type trap struct {
	name, about string
	sigma       float64 // noise of a run, of logarithms
	// run gives the value of a run, of noise z, in a block at a share of the way; failed
	// is one that gave none.
	run func(rng *rand.Rand, z float64, level bool, way float64) (value float64, failed bool)
}

const small = 0.03 // the effect, 1 % beyond the margin

// grow adds what the level costs.
func grow(z float64, level bool, effect float64) float64 {
	if level {
		z += math.Log1p(effect)
	}
	return math.Exp(z)
}

var traps = []trap{
	{"survivors", "3 in 10 of the level's runs would take 10 % longer; they run into their timeout, and are made again", 0.005,
		func(rng *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			return math.Exp(z), level && rng.Float64() < 0.3
		}},
	{"ticks", "a clock with steps of 10 % of a run, and 0.5 % of noise", 0.005,
		func(_ *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			return math.Floor(10*1.055*grow(z, level, small)) / 10, false
		}},
	{"fine ticks", "the same with steps of 1 %", 0.001,
		func(_ *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			return math.Floor(100*1.005*grow(z, level, small)) / 100, false
		}},
	{"stalls", "1 run in 20 takes ten times as long, at the baseline too", noise.Sigma,
		func(rng *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			v := grow(z, level, small)
			if rng.Float64() < 0.05 {
				v *= 10
			}
			return v, false
		}},
	{"zeros", "3 values in 10 are 0, at the baseline too", noise.Sigma,
		func(rng *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			if rng.Float64() < 0.3 {
				return 0, false
			}
			return grow(z, level, small), false
		}},
}

// turning is a ramp whose mean is 0: no rule that stops early can see it.
const turning = "ramps around 0"

// lost are traps with other truths, and figures of what runs to come would have shown, and those so
// far cannot; and of what the limits cost where there is no trap.
var lost = []trap{
	{"no trap, little noise", "no effect, for what the limits cost", 0.01,
		func(_ *rand.Rand, z float64, _ bool, _ float64) (float64, bool) { return math.Exp(z), false }},
	{"stalls at the level", "1 run in 20 of the level takes ten times as long: 45 % more on average", 0.01,
		func(rng *rand.Rand, z float64, level bool, _ float64) (float64, bool) {
			v := math.Exp(z)
			if level && rng.Float64() < 0.05 {
				v *= 10
			}
			return v, false
		}},
	{turning, "the effect goes from -5 % at the first block to +5 % at the last", 0.01,
		func(_ *rand.Rand, z float64, level bool, way float64) (float64, bool) {
			return grow(z, level, 0.1*(way-0.5)), false
		}},
}

// series is the noise of a trap.
func (p trap) model() noise.Model {
	return noise.Model{Name: p.name, About: p.about, Series: func(rng *rand.Rand, n int) []float64 {
		z := make([]float64, n)
		for i := range z {
			z[i] = p.sigma * rng.NormFloat64()
		}
		return z
	}}
}

// trapped counts how often "no practical effect" is said of a true 3 %.
func trapped(w io.Writer, _ models, times int, seed uint64) (targets []target) {
	head(w, "what hides a true effect of 3 % (margin 2 %)", "trap", "no practical effect", "costs more", "costs less", "inconclusive", "runs / blocks")
	for i, p := range slices.Concat(traps, lost) {
		t := trial{model: p.model(), effects: []float64{0}, trap: p.run}
		all := many(times, seed<<16+6000+uint64(i), t.run)
		none := count(all, is(analysis.NoEffect))
		row(w, p.name, none, count(all, is(analysis.CostsMore)), count(all, is(analysis.CostsLess)), count(all, is(analysis.Inconclusive)), averages(all))
		if i < len(traps) {
			targets = append(targets, target{name: "3 % called no practical effect, " + p.name, share: none, bound: 0.05})
		}
		if p.name == "stalls at the level" {
			seen := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !o.stalled })
			row(w, "  where one was seen", count(seen, is(analysis.NoEffect)), count(seen, is(analysis.CostsMore)), count(seen, is(analysis.CostsLess)), count(seen, is(analysis.Inconclusive)), averages(seen))
			wrong := count(all, func(o outcome) bool { return o.stalled && is(analysis.NoEffect)(o) })
			targets = append(targets, target{name: "called no practical effect though a stall was seen", share: wrong, bound: 0.05})
		}
	}
	return targets
}
