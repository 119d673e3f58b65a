package watch

import (
	"math/rand/v2"
	"slices"

	"hostlab/internal/stats"
)

// Spread is how evenly CPUs shared the work of a window, and what chance would have
// made of the same load: in each block of time the same busy times, dealt to the
// CPUs at random. Load that moves about evens out over the blocks; load that keeps
// away from some CPUs does not.
type Spread struct {
	Blocks  int     `json:"blocks"`  // n: stretches of time that are dealt independently
	Seconds float64 `json:"seconds"` // of a block
	Quarter float64 `json:"busiest_quarter"`
	Chance  Range   `json:"busiest_quarter_by_chance"`
	Gini    float64 `json:"gini"` // 0 even, towards 1 all on one CPU
	ByGini  Range   `json:"gini_by_chance"`
	P       float64 `json:"p"` // share of the deals at least as uneven
}

// Range is a mean with the limits that hold 95 % of cases.
type Range struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Excess is how much more of the work the busiest quarter did than by chance.
func (s Spread) Excess() float64 { return s.Quarter - s.Chance.Mean }

// How many deals, and how much dealing in all, in numbers moved.
const (
	mostDeals  = 999
	leastDeals = 199
	mostMoves  = 1e8
)

// spreadOf compares blocks (busy time of each CPU) with chance. Blocks without work
// say nothing and must not be there.
func spreadOf(blocks [][]float64, seconds float64, rng *rand.Rand) Spread {
	s := Spread{Blocks: len(blocks), Seconds: seconds}
	if len(blocks) == 0 {
		return s
	}
	n := len(blocks[0])
	sum := make([]float64, n)
	for _, b := range blocks {
		for i, v := range b {
			sum[i] += v
		}
	}
	s.Quarter, s.Gini = inequality(sum)
	deals := int(min(mostDeals, max(leastDeals, mostMoves/float64(n*len(blocks)))))
	quarters, ginis := make([]float64, deals), make([]float64, deals)
	dealt := make([]float64, n)
	as := 1
	for d := range deals {
		clear(sum)
		for _, b := range blocks {
			copy(dealt, b)
			rng.Shuffle(n, func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
			for i, v := range dealt {
				sum[i] += v
			}
		}
		quarters[d], ginis[d] = inequality(sum)
		if quarters[d] >= s.Quarter-1e-12 {
			as++
		}
	}
	s.P = float64(as) / float64(deals+1)
	s.Chance, s.ByGini = rangeOf(quarters), rangeOf(ginis)
	return s
}

func rangeOf(x []float64) Range {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return Range{Mean: sum / float64(len(x)), Low: stats.Quantile(x, 0.025), High: stats.Quantile(x, 0.975)}
}

// inequality returns the share of the busiest quarter and the Gini coefficient. It
// sorts what it is given.
func inequality(sum []float64) (quarter, gini float64) {
	slices.Sort(sum)
	total, weighted := 0.0, 0.0
	n := float64(len(sum))
	for i, v := range sum {
		total += v
		weighted += v * float64(i+1)
	}
	if !(total > 0) {
		return unknown, unknown
	}
	slices.Reverse(sum)
	return quarterOf(sum), 2*weighted/(n*total) - (n+1)/n
}
