// Command rollout counts, in simulated roll-outs, how often gates say harm where there is none, and how often they find
// harm of 10 %, by hosts and waves.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// world is how values scatter, as standard deviations of logarithms.
type world struct{ hosts, within, drift float64 }

func main() {
	trials := flag.Int("trials", 1000, "roll-outs of each kind")
	within := flag.Float64("within", 0.02, "scatter of one host's values")
	drift := flag.Float64("drift", 0.1, "step of the load from one period to the next")
	flag.Parse()
	w := world{0.1, *within, *drift}
	missed := false
	fmt.Printf("%d roll-outs each; hosts differ by 10 %%, one host's values by %.0f %%, the load drifts by %.0f %% a period\n\n", *trials, 100*w.within, 100*w.drift)
	fmt.Printf("%5s %5s  %-26s %-26s %s\n", "hosts", "waves", "harm where none is", "+10 % found", "smallest by the plan")
	for _, hosts := range []int{4, 6, 8, 12, 20, 40} {
		for _, waves := range []int{2, 3, 4} {
			rng := rand.New(rand.NewPCG(uint64(hosts), uint64(waves)))
			none, found := 0, 0
			for i := range *trials {
				p := plan(hosts, waves, uint64(i)+1)
				if w.harms(p, 0, rng) {
					none++
				}
				if w.harms(p, 0.1, rng) {
					found++
				}
			}
			p := plan(hosts, waves, 1)
			p.Foresee(w.within, 1)
			smallest := "none"
			if s := p.Gates[len(p.Gates)-1].Smallest; s != nil {
				smallest = result.Share(*s)
			}
			fmt.Printf("%5d %5d  %-26s %-26s %s\n", hosts, waves, share(none, *trials), share(found, *trials), smallest)
			if low, _ := stats.Share(none, *trials, 0.05); low > 0.05 {
				missed = true
			}
		}
	}
	if missed {
		fmt.Println("\nmissed: harm where none is, in more than 5 %")
		os.Exit(1)
	}
}

func share(k, n int) string {
	low, high := stats.Share(k, n, 0.05)
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*float64(k)/float64(n), 100*low, 100*high)
}

func plan(hosts, waves int, seed uint64) *rollout.Plan {
	var list []rollout.Candidate
	for i := range hosts {
		list = append(list, rollout.Candidate{Name: fmt.Sprintf("db%03d", i), Hardware: "one", Role: check.ProductionDB})
	}
	p := &rollout.Plan{Schema: rollout.Schema, Kind: rollout.Kind, Created: start, Seed: seed, Set: []string{"governor=performance"},
		Measure: rollout.Measure{Name: "commit.overwritten.mean", Unit: "s", Better: "lower"}}
	p.Strata, p.Waves = rollout.Draw(list, waves, seed)
	return p
}

// harms plays a plan, and reports whether one of its gates says harm: after it no further wave begins.
func (w world) harms(p *rollout.Plan, effect float64, rng *rand.Rand) bool {
	values, verified := map[string][]rollout.Sample{}, map[string]rollout.Verified{}
	load, own, since := 0.0, map[string]float64{}, map[string]bool{}
	for wave := 0; wave < len(p.Waves); wave++ {
		load += w.drift * rng.NormFloat64()
		at := start.Add(time.Duration(wave) * time.Hour)
		if wave > 0 {
			for _, h := range p.Waves[wave-1].Hosts {
				since[h] = true
				verified[h] = rollout.Verified{At: []time.Time{at}, Set: []rollout.Set{{Object: "governor/policy0", Status: check.OK, Since: at}}}
			}
		}
		for _, h := range p.Hosts() {
			if wave == 0 {
				own[h] = w.hosts * rng.NormFloat64()
			}
			v := math.Log(300e-6) + own[h] + load + w.within*rng.NormFloat64()
			if since[h] {
				v += math.Log1p(effect)
			}
			values[h] = append(values[h], rollout.Sample{At: at.Add(time.Minute), Value: math.Exp(v)})
		}
		if wave == 0 {
			continue
		}
		j, err := rollout.Follow(p, verified, values).Gate(wave, rollout.UnlessHarm)
		if err != nil {
			panic(err)
		}
		if j.Verdict == rollout.Harm {
			return true
		}
	}
	return false
}
