// Command switchback puts live experiments to the test: it simulates services whose truth is known, with a day,
// noise that has a memory, a job every 10 minutes, changes that take time to settle and clients that
// wait for answers. The product's own plan, test, rule to stop and rule of harm decide about them.
//
//	go run ./bench/switchback [-n 2000] [-seed 1] [-only effects,harm]
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/stats"
)

func main() {
	n := flag.Int("n", 2000, "experiments for each figure")
	seed := flag.Uint64("seed", 1, "of all random numbers")
	only := flag.String("only", "effects,harm", "tables to print, separated by commas")
	flag.Parse()
	if flag.NArg() > 0 || *n < 20 {
		fmt.Fprintln(os.Stderr, "switchback: want -n of at least 20 and no arguments; see -h")
		os.Exit(2)
	}
	begin := time.Now()
	fmt.Printf("%d simulated experiments for each figure, seed %d. Shares in %% [95 %% interval, Clopper and Pearson].\n", *n, *seed)
	if strings.Contains(*only, "effects") {
		effects(*n, *seed)
	}
	if strings.Contains(*only, "harm") {
		harm(*n, *seed)
	}
	fmt.Printf("%.0f s\n", time.Since(begin).Seconds())
}

// share writes a count of n with its interval.
func share(k, n int) string {
	low, high := stats.Share(k, n, 0.05)
	return fmt.Sprintf("%5.1f [%4.1f, %5.1f]", 100*float64(k)/float64(n), 100*low, 100*high)
}

func effects(n int, seed uint64) {
	fmt.Println("\n== effects: CPU time per transaction, margin 2 %, 120 pairs at most")
	for _, c := range []struct {
		name   string
		closed bool
		adjust bool
	}{{"open", false, false}, {"open, load", false, true}, {"closed", true, false}, {"closed, load", true, true}} {
		for _, effect := range []float64{0, 0.02, 0.03, 0.05, 0.10} {
			var zero, beyond, none, covered, zero30, beyond30, zero20 int
			var told, decided, end, explained []float64
			truth := effect
			for i := range n {
				s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
				s.closed, s.effect = c.closed, math.Log1p(effect)
				if c.closed { // less is asked for, and each transaction of less load costs more
					truth = math.Expm1(math.Log1p(effect) * (1 + 0.15*0.5))
				}
				all := trial(s, 120, c.adjust)
				first := math.Inf(1)
				for _, v := range all {
					if v.effect.Low > 0 || v.effect.High < 0 {
						first = min(first, float64(v.pairs))
					}
				}
				last := all[len(all)-1]
				e := last.effect
				told, end, explained = append(told, first), append(end, float64(last.pairs)), append(explained, last.explained)
				if !math.IsInf(first, 1) {
					zero++
				}
				if first <= 30 {
					zero30++
				}
				if first <= 20 {
					zero20++
				}
				if e.Contains(truth) {
					covered++
				}
				switch e.Verdict {
				case analysis.CostsMore, analysis.CostsLess:
					beyond++
					if last.pairs <= 30 {
						beyond30++
					}
					decided = append(decided, float64(last.pairs))
				case analysis.NoEffect:
					none++
				}
			}
			fmt.Printf("%-13s %4.1f %%: told from 0 %s, in 20 pairs %s, in 30 %s; beyond %s, in 30 %s; none %s; cover %s; pairs told %.0f/%.0f/%.0f, end %.1f; explained %.2f\n", c.name, 100*effect,
				share(zero, n), share(zero20, n), share(zero30, n), share(beyond, n), share(beyond30, n), share(none, n), share(covered, n),
				stats.Quantile(told, 0.5), stats.Quantile(told, 0.8), stats.Quantile(told, 0.95), stats.Mean(end), stats.Mean(explained))
		}
	}
}

func harm(n int, seed uint64) {
	fmt.Println("\n== harm: latency_p99 and CPU time per transaction, 120 pairs")
	for _, calm := range []float64{1, 0.7} {
		for _, c := range []struct {
			effect, from float64
		}{{0, 0}, {0.2, 0}, {0.35, 0}, {0.5, 0}, {0.5, 5 * 3600}, {1, 0}, {1, 5 * 3600}} {
			stops, struck, strikes := 0, 0, 0
			var level, all, first []float64
			for i := range n {
				s := newService(rand.New(rand.NewPCG(seed, uint64(i))))
				s.effect, s.from, s.only, s.calm = math.Log1p(c.effect), c.from, true, calm
				o := harmed(s, 120)
				strikes += o.strikes
				if o.strikes > 0 {
					struck++
					first = append(first, o.first)
				}
				if o.stop {
					stops++
					level, all = append(level, o.atLevel), append(all, o.sinceAll)
				} else {
					level, all = append(level, math.Inf(1)), append(all, math.Inf(1))
				}
			}
			q := func(x []float64) string {
				return fmt.Sprintf("%.0f/%.0f s", stats.Quantile(x, 0.5), stats.Quantile(x, 0.95))
			}
			fmt.Printf("%+4.0f %% from %2.0f h: stopped %s, struck %s, strikes %.2f each; at the level %s, in all %s (50/95 %%); first strike %s\n",
				100*c.effect, c.from/3600, share(stops, n), share(struck, n), float64(strikes)/float64(n), q(level), q(all), q(first))
		}
	}
}
