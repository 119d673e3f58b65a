package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// LatencyResponses describes what FillLatency gives without a prefix, for operations of some name, such
// as "commit".
func LatencyResponses(operation string) []Response {
	return []Response{
		{Name: "p50", Title: "Median " + operation, Unit: "s", Better: "lower"},
		{Name: "p95", Title: "95th percentile of a " + operation, Unit: "s", Better: "lower"},
		{Name: "p99", Title: "99th percentile of a " + operation, Unit: "s", Better: "lower"},
		{Name: "mean", Title: "Mean " + operation, Unit: "s", Better: "lower"},
		{Name: "max", Title: "Longest " + operation, Unit: "s", Better: "lower"},
	}
}

// FillLatency adds all responses of LatencyResponses, the number of operations and their distribution.
func FillLatency(s *Sample, operation string, seconds []float64) {
	s.Operations, s.Latency = int64(len(seconds)), Distribution(operation, seconds)
	SomeLatency(s, "", operation, seconds, "p50", "p95", "p99", "mean", "max")
}

// SomeLatency adds some of the responses of LatencyResponses, each with a prefix. A percentile q of n
// operations takes n (1-q) >= 10 of them, the median and the rest one.
func SomeLatency(s *Sample, prefix, operation string, seconds []float64, names ...string) {
	n := len(seconds)
	for _, name := range names {
		q, percentile := map[string]float64{"p50": 0.50, "p95": 0.95, "p99": 0.99}[name]
		least := 1
		if q > 0.5 {
			least = int(math.Round(10 / (1 - q)))
		}
		switch {
		case n == 0:
			s.Lack("no "+operation+" fitted into the time", prefix+name)
		case n < least:
			s.Lack(fmt.Sprintf("a run has %d operations; %s takes %d", n, name, least), prefix+name)
		case percentile:
			s.Set(prefix+name, stats.Quantile(seconds, q))
		case name == "mean":
			s.Set(prefix+name, stats.Mean(seconds))
		default:
			s.Set(prefix+name, slices.Max(seconds))
		}
	}
}

// Distribution is the histogram of times, ten classes a decade.
func Distribution(operation string, seconds []float64) *result.Distribution {
	edges := Edges(seconds, 10)
	if edges == nil {
		return nil
	}
	d := Histogram(operation, "Time of a "+operation, edges, seconds)
	return &d
}

// Edges are upper edges of classes, so many a decade, that hold all of seconds; nil
// where nothing in it is above 0.
func Edges(seconds []float64, perDecade int) []float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range seconds {
		if v > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return nil
	}
	scale := float64(perDecade)
	var edges []float64
	for k := math.Floor(math.Log10(lo) * scale); ; k++ {
		edge := math.Pow(10, k/scale)
		edges = append(edges, edge)
		if edge >= hi {
			return edges
		}
	}
}

// Histogram counts times in the classes of Edges.
func Histogram(name, title string, edges []float64, seconds ...[]float64) result.Distribution {
	d := result.Distribution{Name: name, Title: title, Unit: "s", Edge: edges, Count: make([]int, len(edges))}
	for _, r := range seconds {
		for _, t := range r {
			i, _ := slices.BinarySearch(edges, t)
			d.Count[min(i, len(edges)-1)]++
		}
	}
	return d
}

// Arrivals are the moments at which operations are to start, whether or not the
// one before has ended: waiting then counts as part of an operation's time.
// Measuring from the actual start instead would leave out the very operations
// that a stall delays (coordinated omission).
type Arrivals struct {
	next time.Time
	gap  func() time.Duration
}

// Poisson gives arrivals that are independent of each other, so many a second on
// average. The same seed gives the same gaps.
func Poisson(start time.Time, rate float64, seed uint64) *Arrivals {
	rng := rand.New(rand.NewPCG(seed, 0x6172726976616c))
	return &Arrivals{start, func() time.Duration { return time.Duration(rng.ExpFloat64() / rate * 1e9) }}
}

// Even gives arrivals at equal distances.
func Even(start time.Time, rate float64) *Arrivals {
	gap := time.Duration(1e9 / rate)
	return &Arrivals{start, func() time.Duration { return gap }}
}

// Next is the moment of the next one.
func (a *Arrivals) Next() time.Time {
	a.next = a.next.Add(a.gap())
	return a.next
}
