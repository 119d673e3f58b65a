package probe

import (
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/stats"
)

// pair is two CPUs, A < B.
type pair struct{ A, B int }

func pairOf(a, b int) pair { return pair{min(a, b), max(a, b)} }

// allPairsUpTo is the number of CPUs up to which every pair is tried.
const allPairsUpTo = 8

// choosePairs returns the pairs to try, at most most, and of how many. Up to 8
// CPUs these are all. Above, in turn: pairs that the system calls siblings (at
// most half), CPUs next to each other, CPUs half the list apart, which are the
// two usual ways of numbering siblings, and pairs at random, against surprises.
func choosePairs(cpus []int, reported map[pair]bool, most int, rnd *rand.Rand) (chosen []pair, of int) {
	n := len(cpus)
	of = n * (n - 1) / 2
	seen := map[pair]bool{}
	add := func(p pair, limit int) {
		if p.A != p.B && !seen[p] && len(chosen) < limit {
			seen[p] = true
			chosen = append(chosen, p)
		}
	}
	if n <= allPairsUpTo {
		for i := range cpus {
			for j := i + 1; j < n; j++ {
				add(pairOf(cpus[i], cpus[j]), min(most, of))
			}
		}
		return chosen, of
	}
	most = min(most, of)
	var known []pair
	for p := range reported {
		if reported[p] && slices.Contains(cpus, p.A) && slices.Contains(cpus, p.B) {
			known = append(known, p)
		}
	}
	slices.SortStableFunc(known, func(x, y pair) int { return x.A*1_000_000 + x.B - y.A*1_000_000 - y.B })
	rnd.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	for _, p := range known {
		add(p, (most+1)/2)
	}
	neighbours, halves := rnd.Perm(n), rnd.Perm(n)
	for i, k := range neighbours {
		add(pairOf(cpus[k], cpus[(k+1)%n]), (2*most+2)/3)
		add(pairOf(cpus[halves[i]], cpus[(halves[i]+n/2)%n]), (5*most+5)/6)
	}
	for tries := 0; len(chosen) < most && tries < 20*most; tries++ {
		add(pairOf(cpus[rnd.IntN(n)], cpus[rnd.IntN(n)]), most)
	}
	return chosen, of
}

// reportedSiblings lists the pairs that the system calls siblings.
func reportedSiblings(topo *host.Topology) map[pair]bool {
	out := map[pair]bool{}
	for _, c := range topo.CPUs {
		for _, s := range c.Siblings.Or(nil) {
			if s != c.ID {
				out[pairOf(c.ID, s)] = true
			}
		}
	}
	return out
}

// siblingsPlan is what fits into the budget.
type siblingsPlan struct {
	Pairs     int // at most
	Rounds    int // of each pair, before any is repeated
	MaxRounds int // of a pair that stays undecided
	Chunks    int // of a cell
	Harm      int // rounds of the lock cells; 0: no time
	PairTime  time.Duration
}

// What things take, in seconds, at the 30 us or so of a chunk.
const (
	chunkSeconds = 30e-6
	cellChunks   = 80
	lockSeconds  = 0.120
	lockOverhead = 0.035 // its warm-up
	harmCells    = 4     // alone twice, beside a scanner on a sibling, on another core
)

// pairSeconds is what one round of a pair takes.
func pairSeconds(chunks int) float64 {
	const cells, sync = 10, 0.0006
	warm := float64(settleChunks) * chunkSeconds
	return cells*(float64(chunks+warmChunks)*chunkSeconds+sync) + warm + 0.003
}

// planSiblings gives half of the budget to pairs and half to the harm of a
// scanner. With little time chunks per cell shrink before rounds do.
//
// Where two CPUs may be used for a share of the time only, it is all for the pairs: a scan
// would need more.
func planSiblings(budget time.Duration, cpus int, share, alpha float64) siblingsPlan {
	least := stats.MinBlocks(alpha)
	p := siblingsPlan{Chunks: cellChunks, Rounds: least + 2, MaxRounds: (1 + pairRepeats) * (least + 2),
		PairTime: budget / 2}
	if share < 1 {
		p.PairTime = budget
	}
	all := cpus * (cpus - 1) / 2
	if cpus > allPairsUpTo {
		all = 1
	}
	round := func() float64 { return float64(p.Rounds) * pairSeconds(p.Chunks) / share }
	for float64(all)*round() > p.PairTime.Seconds() {
		switch {
		case p.Chunks > 20:
			p.Chunks /= 2
		case p.Rounds > least:
			p.Rounds = least
		default: // some pairs of the list will have to do
			all = 0
		}
	}
	p.Pairs = max(1, int(p.PairTime.Seconds()/round()))
	harm := (budget - p.PairTime).Seconds() / (harmCells * (lockSeconds + lockOverhead))
	p.Harm = min(int(harm*0.85), 15)
	if p.Harm < least {
		p.Harm = min(least, int(harm))
	}
	return p
}
