package probe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/result"
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

// Relation says what two CPUs share, by measurement.
type Relation string

// The relations. What the signals do not settle is unknown.
const (
	Siblings    Relation = "siblings"    // two threads of one core
	Separate    Relation = "separate"    // two cores
	TimeShared  Relation = "time-shared" // one CPU under both, in turn, as under an overcommitted hypervisor
	UnknownPair Relation = "unknown"
)

// PairSignal is what was measured of two CPUs. Slow-downs are the median time of
// a short chunk with both CPUs at it over that alone, for each of the two.
type PairSignal struct {
	ALU     [2]result.Estimate // chunks that fill the integer ports
	FMA     [2]result.Estimate // chunks that fill the floating-point ports
	Control [2]result.Estimate // a chain of additions, which leaves most ports free
	Wall    result.Estimate    // elapsed time of all control chunks, together over alone
	WallRaw bool               // Wall contains waiting for other threads of this system
	Most    float64            // the largest slow-down at the integer ports of any round, in any direction

	PingPong float64 // s for a cache line to go one way; NaN: unknown
	Near     Near    // whether that is as short as it gets here

	Reported bool    // the system calls them siblings
	Foreign  float64 // share of the two CPUs' time, or of the threads', that others took meanwhile
}

// Near says whether a pair's ping-pong is among the shortest.
type Near int

// The zero Near is unknown.
const (
	NearUnknown Near = iota
	NearYes
	NearNo
)

// The thresholds. Two threads of a core that each want all of its ports get half
// of them; published gains of SMT of up to 30 % in total mean a slow-down of 1.54.
const (
	siblingSlowdown  = 1.30 // from here on they share ports
	separateSlowdown = 1.15 // up to here they do not
	controlSlowdown  = 1.10 // what frequency and noise may do to a chain of additions
	sharedWall       = 1.5  // elapsed time of CPUs that take turns
	farPingPong      = 24e-9
	nearCluster      = 1.5 // the lowest cluster reaches up to this times the shortest
)

// Classify decides what two CPUs share. Estimates must pass their threshold in
// both directions, and their intervals must exclude the opposite answer; without
// intervals, or with signals that disagree, the answer is UnknownPair.
//
// Where others crowd the CPUs, nothing is decided. Where they run there now and then, threads
// of one core are slow alone too, but not in all rounds: cores are only called separate if no
// round shows otherwise. CPUs that take turns with others look like those that take
// turns with each other.
func Classify(s PairSignal) Relation {
	if s.Foreign > crowded {
		return UnknownPair
	}
	for _, iv := range []result.Estimate{s.ALU[0], s.ALU[1], s.FMA[0], s.FMA[1], s.Control[0], s.Control[1], s.Wall} {
		if !(iv.Low > 0 && iv.High >= iv.Low) {
			return UnknownPair
		}
	}
	control := each(s.Control, func(iv result.Estimate) bool {
		return iv.Value <= controlSlowdown && iv.High < siblingSlowdown
	})
	steady := func(iv result.Estimate) bool { return iv.Value <= controlSlowdown }
	if s.Wall.Value >= sharedWall {
		if s.Foreign <= disturbedShare && !s.WallRaw && s.Wall.Low > separateSlowdown && control && each(s.ALU, steady) &&
			each(s.FMA, steady) {
			return TimeShared
		}
		return UnknownPair
	}
	slowed := func(iv result.Estimate) bool { return iv.Value >= siblingSlowdown && iv.Low > separateSlowdown }
	if (each(s.ALU, slowed) || each(s.FMA, slowed)) && control && s.Near == NearYes {
		return Siblings
	}
	free := func(iv result.Estimate) bool { return iv.Value <= separateSlowdown && iv.High < siblingSlowdown }
	// What is reported otherwise and as near as siblings are is not called separate:
	// other load on either CPU slows the runs alone as much as those together.
	if each(s.ALU, free) && each(s.FMA, free) && each(s.Control, free) &&
		(s.Foreign <= disturbedShare || s.Most < siblingSlowdown) && (!s.Reported || s.Near != NearYes) {
		return Separate
	}
	return UnknownPair
}

// each reports whether both directions satisfy ok. Comparisons with NaN are false.
func each(iv [2]result.Estimate, ok func(result.Estimate) bool) bool { return ok(iv[0]) && ok(iv[1]) }

// nearness judges the ping-pong times of all pairs, in seconds, NaN for unknown.
// Where they fall into clusters, the lowest is near. Where they do not, or there
// is one pair only, the shortest published between cores, 24 ns, has to decide:
// below it is near, above it nothing is known, for a slow clock stretches both.
func nearness(times []float64) []Near {
	shortest, longest := math.Inf(1), 0.0
	for _, t := range times {
		if t > 0 {
			shortest, longest = min(shortest, t), max(longest, t)
		}
	}
	clusters := longest > nearCluster*shortest
	out := make([]Near, len(times))
	for i, t := range times {
		switch {
		case !(t > 0):
		case clusters && t > nearCluster*shortest:
			out[i] = NearNo
		case clusters || t < farPingPong:
			out[i] = NearYes
		}
	}
	return out
}

// describe puts the signals into words.
func (s PairSignal) describe() string {
	pair := func(iv [2]result.Estimate) string {
		return fmt.Sprintf("%.2f and %.2f", iv[0].Value, iv[1].Value)
	}
	text := fmt.Sprintf(
		"together against alone: integer ports x %s, floating-point ports x %s, control x %s, elapsed x %.2f",
		pair(s.ALU), pair(s.FMA), pair(s.Control), s.Wall.Value)
	if s.PingPong > 0 {
		text += fmt.Sprintf("; a cache line takes %.0f ns", s.PingPong*1e9)
	}
	return fmt.Sprintf("%s; n %d", text, s.ALU[0].N)
}
