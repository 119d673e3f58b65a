package trace

import "math"

// buckets is that of kernel/sched.c.
const buckets = 208

// Latency holds times from a wake-up to running.
type Latency struct {
	N    uint64
	Sum  float64 // s
	hist [buckets]uint64
}

// edge is the lower edge of a class in s: 8 in each power of two, from 128 ns.
func edge(bucket int) float64 {
	if bucket == 0 {
		return 0
	}
	b := bucket - 1
	return math.Ldexp(1+float64(b%8)/8, 7+b/8) / 1e9
}

// Mean is in s; NaN for none.
func (l *Latency) Mean() float64 { return l.Sum / float64(l.N) }

// Quantile is within 7 % of the value below which a share q lies, in s; NaN for none.
// Within a class, times are taken as spread evenly.
func (l *Latency) Quantile(q float64) float64 {
	if l.N == 0 {
		return math.NaN()
	}
	rank, below := q*float64(l.N), 0.0
	last := 0
	for b, n := range l.hist {
		if n == 0 {
			continue
		}
		if last = b; below+float64(n) >= rank {
			return edge(b) + (edge(b+1)-edge(b))*(rank-below)/float64(n)
		}
		below += float64(n)
	}
	return edge(last + 1)
}

// Between adds up what each took beyond from, in s, no more than up to most. spread is the sum's standard
// error, as of times that come at random: a single long one makes it as large as the sum.
func (l *Latency) Between(from, most float64) (sum, spread float64) {
	squares := 0.0
	for b, n := range l.hist {
		each := max(0, min((edge(b)+edge(b+1))/2, most)-from)
		sum, squares = sum+float64(n)*each, squares+float64(n)*each*each
	}
	return sum, math.Sqrt(squares)
}

func (l *Latency) add(hist []uint32, ns uint64) {
	for b, n := range hist {
		l.hist[b] += uint64(n)
		l.N += uint64(n)
	}
	l.Sum += float64(ns) / 1e9
}
