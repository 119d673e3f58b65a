package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"hostlab/internal/analysis"
	"hostlab/internal/stats"
)

// kind of service and study for the table of effects.
type kind struct {
	name           string
	closed, adjust bool
	noise          float64
	effects        []float64
}

var kinds = []kind{
	{"open loop", false, false, 1, []float64{0, 0.02, 0.03, 0.05, 0.10}},
	{"closed loop", true, false, 1, []float64{0, 0.05}},
	{"closed, adjusted for load", true, true, 1, []float64{0, 0.05}},
	{"open, noise x 1.5", false, false, 1.5, []float64{0, 0.05}},
}

// tally counts what became of the experiments with one effect.
type tally struct {
	zero, beyond, none, joint, last, soon, soonBeyond int
	seen, end, explained                              []float64
}

func (y *tally) add(all []seen, truth float64) {
	first, joint := math.Inf(1), true
	for _, v := range all {
		if v.effect.Low > 0 || v.effect.High < 0 {
			first = min(first, float64(v.pairs))
		}
		joint = joint && v.effect.Contains(truth)
	}
	count := func(to *int, is bool) {
		if is {
			*to++
		}
	}
	count(&y.joint, joint)
	count(&y.soon, first <= 30)
	y.seen = append(y.seen, first)
	for _, v := range all {
		if !v.last {
			continue
		}
		beyond := v.effect.Verdict == analysis.CostsMore || v.effect.Verdict == analysis.CostsLess
		count(&y.zero, first <= float64(v.pairs))
		count(&y.last, v.effect.Contains(truth))
		count(&y.beyond, beyond)
		count(&y.soonBeyond, beyond && v.pairs <= 30)
		count(&y.none, v.effect.Verdict == analysis.NoEffect)
		y.end, y.explained = append(y.end, float64(v.pairs)), append(y.explained, v.explained)
	}
}

// pairs writes a quantile of numbers of pairs, of which some are infinite: never.
func pairs(x []float64, q float64) string {
	s := stats.Quantile(x, q)
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return "never"
	}
	return fmt.Sprintf("%.0f", s)
}

func effects(n int, seed uint64) (missed bool) {
	fmt.Println("\n== effects on CPU time per transaction; margin 2 %, 120 pairs at most")
	for _, k := range kinds {
		for _, effect := range k.effects {
			var y tally
			for i := range n {
				s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
				s.closed, s.effect, s.noise = k.closed, math.Log1p(effect), k.noise
				truth := effect
				if k.closed { // less is asked for, and each transaction of less load costs more
					truth = math.Expm1(math.Log1p(effect) * (1 + 0.15*0.5))
				}
				y.add(trial(s, 120, k.adjust), truth)
			}
			fmt.Printf("%s, %g %%: not 0 %s, beyond %s, none %s; not 0 after %s/%s/%s pairs (50/80/95 %%), ends after %.1f; intervals of the last look hold it %s; load explains %.0f %%\n",
				k.name, 100*effect, share(y.zero, n), share(y.beyond, n), share(y.none, n), pairs(y.seen, 0.5), pairs(y.seen, 0.8), pairs(y.seen, 0.95),
				stats.Mean(y.end), share(y.last, n), 100*stats.Mean(y.explained))
			bound := func(name string, k int, least, most float64) { missed = target(name, k, n, least, most) || missed }
			bound("intervals of all looks together hold it", y.joint, 0.93, 0.97)
			switch {
			case effect == 0:
				bound("an effect is seen", y.zero, 0, 0.05)
			case effect == margin:
				bound("called beyond the margin", y.beyond, 0, 0.05)
			case effect == 0.05 && k.noise == 1:
				bound("not 0 within 30 pairs", y.soon, 0.9, 1)
				bound("beyond the margin within 30 pairs", y.soonBeyond, 0.8, 1)
			}
		}
	}
	return missed
}

// calms are services by the noise of their latency: that of one look is a standard deviation of 16, 19 and 22 %.
var calms = []float64{0.7, 0.85, 1}

// paces are lengths of periods: the product's own, and short ones of which many are needed to show harm, of a service that
// settles within them.
var paces = []struct {
	name  string
	tau   float64
	late  float64 // seconds, after which harm begins
	lasts func(block int) int
	calms []float64
}{
	{"120 pairs", 30, 5 * 3600, func(b int) int { return settle + lasts(b) }, calms},
	{"120 pairs of periods of 20 s, settles in 2 s", 2, 1800, func(int) int { return 20 }, calms[:2]},
}

func harm(n int, seed uint64) (missed bool) {
	for _, p := range paces {
		for _, calm := range p.calms {
			fmt.Printf("\n== harm to latency only, a look of which has a noise of %.0f %%; %s\n", 100*calm*math.Hypot(0.1, 0.2), p.name)
			for _, c := range []struct{ effect, from float64 }{{0, 0}, {0.2, 0}, {0.35, 0}, {0.5, 0}, {0.5, p.late}, {1, 0}, {1, p.late}} {
				stops, soon := 0, 0
				var level, all, first []float64
				for i := range n {
					s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
					s.effect, s.from, s.only, s.calm, s.tau = math.Log1p(c.effect), c.from, true, calm, p.tau
					o := harmed(s, 120, p.lasts)
					if o.first > 0 {
						first = append(first, o.first)
					}
					if !o.stop {
						o.atLevel, o.inAll = math.Inf(1), math.Inf(1)
					} else {
						stops++
					}
					if o.atLevel <= 1200 {
						soon++
					}
					level, all = append(level, o.atLevel), append(all, o.inAll)
				}
				q := func(x []float64) string { return pairs(x, 0.5) + "/" + pairs(x, 0.95) + " s" }
				fmt.Printf("%+4.0f %% after %.1f h: stopped %s; at the level %s, in all %s (50/95 %%); first strike %s\n",
					100*c.effect, c.from/3600, share(stops, n), q(level), q(all), q(first))
				switch {
				case c.effect == 0 && calm < 1:
					missed = target("stopped for nothing", stops, n, 0, 0.08) || missed
				case c.effect == 0.5:
					missed = target("stopped within 20 min at the level", soon, n, 0.95, 1) || missed
				}
			}
		}
	}
	return missed
}
