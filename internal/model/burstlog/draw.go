package burstlog

import (
	"cmp"
	"fmt"
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
		if whole := r.Span * r.Seen; rest == 0 && sum < 0.9*whole {
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

// Load is the busy share of all CPUs that were watched, 0 to 1: what was counted, or else that of
// the bursts that began in windows.
func (r *Record) Load() float64 {
	if r.Head.Load > 0 {
		return r.Head.Load
	}
	return min(1, r.sum()/(r.Length*r.Seen*float64(len(r.CPUs))))
}

func (r *Record) sum() (sum float64) {
	for _, b := range r.Busy {
		sum += b
	}
	return sum
}

// MeanBurst is how long a burst lasts, in s.
func (r *Record) MeanBurst() float64 { return r.sum() / float64(len(r.Busy)) }

// ServiceShare is the share of the bursts' time that the head's service ran.
func (r *Record) ServiceShare() float64 { return r.served / r.sum() }

// Replay is the record as a closed workload: each CPU that had bursts is a user who
// stays on it, and computes and idles for lengths drawn from its own part of the record. It
// keeps both lengths, which is what a governor sees, and fixes the load.
func (r *Record) Replay(name string) model.Workload {
	w := r.workload(name)
	busy, idle := r.lengths(r.busy), r.lengths(r.idle)
	w.Slice, w.Think = busy[0], idle[0]
	w.Users, w.Placement = r.Active, model.Sticky
	for i, d := range busy[1:] {
		w.Each = append(w.Each, model.Lengths{Slice: d, Think: idle[1+i]})
	}
	return w
}

// Open is the record as an open workload: its bursts arrive at random at any load.
func (r *Record) Open(name string) model.Workload {
	w := r.workload(name)
	w.Slice, w.Placement = r.lengths(r.busy)[0], model.Spread
	return w
}

func (r *Record) workload(name string) model.Workload {
	return model.Workload{
		Name: name, Kind: model.Dialog, Slices: 1,
		Source: fmt.Sprintf("record of %d bursts on %d CPUs from %s (%s%s)", len(r.Busy), len(r.CPUs),
			r.Started.UTC().Format("2006-01-02 15:04 MST"), r.Source, r.sample()),
	}
}

func (r *Record) sample() string {
	if r.Seen == 1 {
		return ""
	}
	return fmt.Sprintf(", in %.3g %% of %s", r.Seen*100, seconds(r.Length))
}
