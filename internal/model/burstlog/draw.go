package burstlog

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"hostlab/internal/model"
)

// Stretches is how many parts of a record are drawn anew: enough that the interval does
// not hang on their number, and long enough that what comes in phases of seconds stays
// together in a record of a minute.
const Stretches = 30

// most is how many values a distribution keeps, of all users together. More are joined in groups of
// equal size by their means, which keeps the mean and blurs only neighbours in rank.
const most = 5000

// drawn is what workloads are made of.
type drawn struct {
	busy, idle []length
	times      [Stretches]int // how often each stretch is in the workload
}

// length is that of a burst, or of the idle time after it.
type length struct {
	s       float64
	cpu     int32 // its rank among those with bursts
	stretch int32 // in which it began
}

// piece is the least length at which a burst is cut. Every policy has reached its frequency by then, so
// that two pieces cost what the whole does, but one of a minute among thousands of short ones would hardly be drawn,
// and belongs to all the stretches that it spans.
const piece = 1.0 // s

// draw sorts lengths by their size.
func (r *Record) draw(cpus map[int]*track) {
	r.times = [Stretches]int{}
	cut := max(piece, r.Span/(10*Stretches))
	rank := int32(0)
	for _, c := range slices.Sorted(slices.Values(r.CPUs)) {
		t := cpus[c]
		if !t.any {
			continue
		}
		sum, rest := 0.0, 0.0
		for _, b := range t.bursts {
			sum, rest = sum+b.Busy, rest+b.Idle
			at, left := b.At, b.Busy
			for ; left > 1.5*cut; at, left = at+cut, left-cut {
				r.busy = append(r.busy, length{cut, rank, r.stretch(at)})
			}
			r.busy = append(r.busy, length{left, rank, r.stretch(at)})
			if b.Idle > 0 {
				r.idle = append(r.idle, length{b.Idle, rank, r.stretch(at)})
			}
		}
		// Its only idle time may lie before its first burst, where no record has it.
		if whole := r.Span * cmp.Or(r.Seen, 1); rest == 0 && sum < 0.9*whole {
			r.idle = append(r.idle, length{whole - sum, rank, r.stretch(t.began)})
		}
		t.bursts = nil
		rank++
	}
	for _, l := range [][]length{r.busy, r.idle} {
		slices.SortStableFunc(l, func(a, b length) int { return cmp.Compare(a.s, b.s) })
	}
	for _, l := range r.busy {
		r.times[l.stretch] = 1
	}
}

func (r *Record) stretch(at float64) int32 {
	return int32(min(Stretches-1, at/r.Span*Stretches))
}

// Drawn is how many stretches there are to draw: those in which a burst began or went on.
func (r *Record) Drawn() (n int) {
	for _, t := range r.times {
		n += t
	}
	return n
}

// Lengths is how many of busy time there are to draw.
func (r *Record) Lengths() int { return len(r.busy) }

// Resample draws stretches of the record with replacement, all CPUs together (Künsch 1989,
// block bootstrap): how its workloads differ is how sure the record is.
func (r *Record) Resample(rng *rand.Rand) *Record {
	var of []int
	for i, t := range r.times {
		if t > 0 {
			of = append(of, i)
		}
	}
	out := *r
	out.times = [Stretches]int{}
	for range of {
		out.times[of[rng.IntN(len(of))]]++
	}
	return &out
}

// lengths are the distributions of all CPUs together, and of each. One that has none is zero.
func (r *Record) lengths(of []length) []model.Dist {
	sets := make([]joined, 1+r.Active)
	for _, l := range of {
		sets[0].of += r.times[l.stretch]
		sets[1+l.cpu].of += r.times[l.stretch]
	}
	for i := range sets {
		sets[i].groups = min(sets[i].of, most)
		if i > 0 {
			sets[i].groups = min(sets[i].of, max(most/r.Active, 500))
		}
	}
	for _, l := range of {
		for range r.times[l.stretch] {
			sets[0].add(l.s)
			sets[1+l.cpu].add(l.s)
		}
	}
	out := make([]model.Dist, len(sets))
	for i, s := range sets {
		if s.of == 0 {
			continue
		}
		out[i] = model.Dist{Kind: model.DistEmpirical, Values: s.values}
		for _, v := range s.values {
			out[i].Mean += v / float64(len(s.values))
		}
	}
	return out
}

// joined are the means of groups of values that come in order.
type joined struct {
	of, groups int // values, and groups of them
	have, in   int // values, and those of the last group
	values     []float64
}

func (j *joined) add(v float64) {
	if g := j.have * j.groups / j.of; g == len(j.values) {
		j.values, j.in = append(j.values, 0), 0
	}
	j.have++
	j.in++
	last := &j.values[len(j.values)-1]
	*last += (v - *last) / float64(j.in)
}
