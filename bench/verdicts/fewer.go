package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/bench/verdicts/noise"
	"hostlab/bench/verdicts/peers"
	"hostlab/internal/stats"
)

// The question of "fewer runs": how many runs, of both sides and with all that a
// tool runs besides, until it gives the correct verdict on an effect of 5 % in 95 %
// of experiments (or in as many as hostlab does, where that is less), at equal error? Error is a verdict "they differ" on two sides
// that are the same.
//
// A peer runs a fixed number, so that its number is searched: the least one with
// that power, where its level may be made stricter than 0.05 for fewer errors.
// It is put two questions: its own (do they differ?), and hostlab's (do they differ
// by more than the margin?), for which A's times are multiplied with the margin
// before they are compared. None of them offers the second.
type question int

const (
	differ question = iota
	beyond
)

const effect = 0.05

// sizes are the numbers of measured runs a side that are tried.
var sizes = []int{3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 80, 100, 140, 200, 400}

// scores are the p-values of one size of a peer in all simulated experiments,
// without and with an effect; 1 where the direction is wrong.
type scores struct{ same, other []float64 }

// peerScores simulates one size of one peer. Index 0 is question differ.
func peerScores(p peers.Peer, m noise.Model, n, times int, seed uint64) [2]scores {
	type pair struct{ same, other [2]float64 }
	side := p.Runs(n)
	all := many(times, seed, func(rng *rand.Rand) pair {
		z := m.Series(rng, 2*side)
		for i := range z {
			z[i] = math.Exp(z[i])
		}
		a, b := p.Pick(z[:side], n), p.Pick(z[side:], n)
		var out pair
		up, down := scoresOf(p, a, b)
		out.same = [2]float64{min(up[differ], down[differ]), min(up[beyond], down[beyond])}
		for i := range b {
			b[i] *= 1 + effect
		}
		out.other, _ = scoresOf(p, a, b)
		return out
	})
	var s [2]scores
	for _, v := range all {
		for q := range s {
			s[q].same = append(s[q].same, v.same[q])
			s[q].other = append(s[q].other, v.other[q])
		}
	}
	return s
}

// scoresOf returns, for each question, the p-value where b takes longer (up) and
// where it takes less (down), 1 otherwise.
func scoresOf(p peers.Peer, a, b []float64) (up, down [2]float64) {
	up, down = [2]float64{1, 1}, [2]float64{1, 1}
	centre := stats.Median
	if p.Name != "benchstat" {
		centre = func(x []float64) float64 { return sum(x) / float64(len(x)) }
	}
	r := centre(b) / centre(a)
	if r >= 1 {
		up[differ] = p.P(a, b)
	} else {
		down[differ] = p.P(a, b)
	}
	moved := slices.Clone(a)
	by := func(f float64) []float64 {
		for i := range a {
			moved[i] = a[i] * f
		}
		return moved
	}
	switch {
	case r > 1+margin:
		up[beyond] = p.P(by(1+margin), b)
	case r < 1/(1+margin):
		down[beyond] = p.P(by(1/(1+margin)), b)
	}
	return up, down
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// least is the smallest of n sizes whose errors are at most allowed and whose power
// is at least wanted; ok is false when no size has both. level is what it takes.
func least(n int, of func(i int) scores, allowed, wanted float64) (at int, level float64, ok bool) {
	for i := range n {
		s := of(i)
		p := slices.Clone(s.same)
		slices.Sort(p)
		level = peers.Alpha
		if k := int(allowed * float64(len(p))); k < len(p) {
			level = min(level, p[k]) // at most k are below it
		}
		if count(s.other, func(v float64) bool { return v < level }).value() >= wanted {
			return i, level, true
		}
	}
	return 0, 0, false
}

func (s scores) resample(rng *rand.Rand) scores {
	out := scores{make([]float64, len(s.same)), make([]float64, len(s.other))}
	for i := range out.same {
		at := rng.IntN(len(s.same))
		out.same[i], out.other[i] = s.same[at], s.other[at]
	}
	return out
}

// contest is a peer put to the experiments of one model, at all sizes.
type contest struct {
	peer     peers.Peer
	oursRuns []float64 // of each experiment with the effect
	power    float64   // that the peer has to have: 95 %, or hostlab's where that is less
	sizes    [2][]scores
}

// ratio says how many runs the peer takes, at which level, and their ratio to
// hostlab's with a bootstrap interval over the simulated experiments of both.
func (c contest) ratio(q question, allowed float64, rng *rand.Rand) string {
	runs := func(at int) float64 { return float64(2 * c.peer.Runs(sizes[at])) }
	at, level, ok := least(len(sizes), func(i int) scores { return c.sizes[q][i] }, allowed, c.power)
	if !ok {
		return "none"
	}
	var boot []float64
	for range 100 {
		own := 0.0
		for range c.oursRuns {
			own += c.oursRuns[rng.IntN(len(c.oursRuns))]
		}
		r := math.Inf(1)
		if i, _, ok := least(len(sizes), func(i int) scores { return c.sizes[q][i].resample(rng) }, allowed, c.power); ok {
			r = runs(i) * float64(len(c.oursRuns)) / own
		}
		boot = append(boot, r)
	}
	slices.Sort(boot)
	return fmt.Sprintf("%.0f at p < %.2g: %.2f [%.2f, %.2f]", runs(at), level, runs(at)*float64(len(c.oursRuns))/sum(c.oursRuns), boot[2], boot[97])
}

// fewer prints, for each model, hostlab's errors, power and runs, and those of the
// peers: as documented, and at the least size that does as well.
func fewer(w io.Writer, m models, times int, seed uint64) []target {
	fmt.Fprintf(w, "\n== runs to the correct verdict on an effect of %g %%, and errors without one\n", 100*effect)
	fmt.Fprintf(w, "Ratios are the peer's least runs over hostlab's [95 %%, bootstrap]; above 1, hostlab needs fewer. none: at none of %d to %d runs a side and no level.\n", sizes[0], sizes[len(sizes)-1])
	for i, model := range m.atSigma() {
		seed := seed<<16 + 6000 + uint64(i)*200
		same, other := trial{model: model, effects: []float64{0}}, trial{model: model, effects: []float64{effect}}
		ours, with := count(many(times, seed, same.run), same.falsely), many(times, seed+1, other.run)
		c := contest{}
		for _, o := range with {
			c.oursRuns = append(c.oursRuns, float64(o.runs))
		}
		_, upper := ours.interval()
		found := count(with, other.found)
		c.power = min(0.95, found.value())
		fmt.Fprintf(w, "\n%s: %s\n  %-10s errors %s  found %s  runs %.1f on average\n", model.Name, model.About, "hostlab", ours, found, sum(c.oursRuns)/float64(times))
		for j, p := range peers.All() {
			c.peer, c.sizes = p, [2][]scores{}
			for k, n := range sizes {
				s := peerScores(p, model, n, times, seed+uint64(2+j*50+k))
				for q := range s {
					c.sizes[q] = append(c.sizes[q], s[q])
				}
			}
			called := func(v float64) bool { return v < peers.Alpha }
			documented := c.sizes[differ][slices.Index(sizes, p.Values)]
			rng := rand.New(rand.NewPCG(seed, 99))
			fmt.Fprintf(w, "  %-10s errors %s  found %s  runs %d as documented\n", p.Name, count(documented.same, called), count(documented.other, called), 2*p.Runs(p.Values))
			fmt.Fprintf(w, "  %12serrors at most 5 %%: %s; at most hostlab's (%.2f %%): %s; beyond the margin: %s\n", "",
				c.ratio(differ, 0.05, rng), 100*upper, c.ratio(differ, upper, rng), c.ratio(beyond, upper, rng))
		}
	}
	return nil
}
