package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

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
	unsaid                                            int // intervals at the end that miss it, without a warning
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
		count(&y.unsaid, !v.effect.Contains(truth) && !v.warned)
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
	for _, tau := range []float64{30, 120, 300} {
		for _, effect := range []float64{0.05, 0.2} {
			var y tally
			var values []float64
			for i := range n {
				s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
				s.tau, s.effect, s.learned = tau, math.Log1p(effect), true
				all := trial(s, 60, false)
				y.add(all, effect)
				for _, v := range all {
					if v.last {
						values = append(values, v.effect.Value)
					}
				}
			}
			fmt.Printf("settles with %g s, which the first pairs show, %g %%: estimate %.2f %% in the middle, ends after %.1f; intervals of all looks hold it %s, that at the end misses it without a warning %s\n",
				tau, 100*effect, 100*stats.Median(values), stats.Mean(y.end), share(y.joint, n), share(y.unsaid, n))
			if tau < 300 {
				missed = target("interval of the last look holds it", y.last, n, 0.93, 1) || missed
			} else {
				fmt.Printf("   interval of the last look holds it %s\n", share(y.last, n))
			}
		}
	}
	return missed
}

// paces are lengths of periods: the product's own, and short ones of which many are needed to show harm, of a service that
// settles within them.
var paces = []struct {
	name  string
	tau   float64
	late  float64 // seconds, after which harm begins
	lasts func(block int) int
}{
	{"120 pairs", 30, 5 * 3600, func(b int) int { return settle + lasts(b) }},
	{"120 pairs of periods of 20 s, settles in 2 s", 2, 1800, func(int) int { return 20 }},
}

// harm prints how often the rule stops experiments whose level does no harm, and how soon others.
func harm(n int, seed uint64) (missed bool) {
	for _, p := range paces {
		end := 0.0
		for b := range 120 {
			end += 2 * float64(p.lasts(b))
		}
		fmt.Printf("\n== no harm; %s\n", p.name)
		for _, calm := range []float64{0.7, 0.85, 1} {
			for _, d := range disturbances {
				if calm != 0.85 && d.name != "none" {
					continue
				}
				all := parallel(n, func(i int) stopped {
					rng := rand.New(rand.NewPCG(seed, uint64(i)))
					s := newService(rng)
					s.only, s.calm, s.tau = true, calm, p.tau
					d.make(s, rand.New(rand.NewPCG(seed+1, uint64(i))), end)
					return harmed(s, 120, p.lasts)
				})
				stops, strikes, counts := 0, 0, 0
				for _, o := range all {
					strikes += o.strikes
					counts += o.counts
					if o.stop {
						stops++
					}
				}
				fmt.Printf("   %.1f strikes an experiment, %.1f count\n", float64(strikes)/float64(n), float64(counts)/float64(n))
				missed = target(fmt.Sprintf("noise %.0f %%, %s", 100*calm*math.Hypot(0.1, 0.2), d.name), stops, n, 0, 0.05) || missed
			}
		}
		fmt.Printf("\n== harm to latency only; %s; seconds until it stops, 50/95 %%\n", p.name)
		for _, calm := range []float64{0.7, 0.85, 1} {
			for _, c := range []struct{ effect, from float64 }{{0.25, 0}, {0.35, 0}, {0.5, 0}, {0.5, p.late}, {1, 0}, {1, p.late}, {2, 0}, {4, 0}} {
				all := parallel(n, func(i int) stopped {
					s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
					s.effect, s.from, s.only, s.calm, s.tau = math.Log1p(c.effect), c.from, true, calm, p.tau
					return harmed(s, 120, p.lasts)
				})
				stops := 0
				var level, inAll, first []float64
				for _, o := range all {
					if o.first > 0 {
						first = append(first, o.first)
					}
					if !o.stop {
						o.atLevel, o.inAll = math.Inf(1), math.Inf(1)
					} else {
						stops++
					}
					level, inAll = append(level, o.atLevel), append(inAll, o.inAll)
				}
				q := func(x []float64) string { return pairs(x, 0.5) + "/" + pairs(x, 0.95) + " s" }
				within := map[float64]float64{0.5: 480, 1: 240}[c.effect]
				verdict := ""
				if within > 0 {
					verdict = fmt.Sprintf("; want a median of at most %.0f s: met", within)
					if stats.Quantile(level, 0.5) > within {
						verdict, missed = fmt.Sprintf("; want a median of at most %.0f s: MISSED", within), true
					}
				}
				fmt.Printf("noise %.0f %%, %+4.0f %% after %.1f h: stopped %s; at the level %s, in all %s; first strike %s%s\n",
					100*calm*math.Hypot(0.1, 0.2), 100*c.effect, c.from/3600, share(stops, n), q(level), q(inAll), q(first), verdict)
			}
		}
	}
	return missed
}

// parallel runs n experiments on all CPUs.
func parallel(n int, one func(i int) stopped) []stopped {
	out := make([]stopped, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				out[i] = one(int(i))
			}
		})
	}
	all.Wait()
	return out
}
