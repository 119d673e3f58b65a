package burstlog

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"hostlab/internal/model"
)

// most is how many values a distribution keeps. More are joined in groups of equal
// size by their means, which keeps the mean and blurs only neighbours in rank.
const most = 5000

// Load is the busy share of all CPUs that were watched, 0 to 1. Of a sample, it is what
// was counted, or else that of the bursts that began in windows.
func (r *Record) Load() float64 {
	if r.Head.Load > 0 {
		return r.Head.Load
	}
	span := r.Span
	if r.sampled() {
		span = r.Length * r.Seen
	}
	return min(1, r.busy()/(span*float64(len(r.CPUs))))
}

func (r *Record) busy() (sum float64) {
	for _, b := range r.Busy {
		sum += b
	}
	return sum
}

// ServiceShare is the share of the bursts' time that the head's service ran.
func (r *Record) ServiceShare() float64 { return r.served / r.busy() }

// Stretches is how many parts of a record are drawn anew: enough that the interval does
// not hang on their number, and long enough that what comes in phases of seconds stays
// together in a record of a minute.
const Stretches = 30

// Resample draws stretches of the record with replacement, all CPUs together (Künsch 1989,
// block bootstrap): how its workloads differ is how sure the record is.
func (r *Record) Resample(rng *rand.Rand) *Record {
	of := r.stretches()
	out := &Record{Head: r.Head, Active: r.Active, Span: r.Span}
	for range of {
		for _, i := range of[rng.IntN(len(of))] {
			out.Busy = append(out.Busy, r.Busy[i])
			if r.rest[i] > 0 {
				out.Idle = append(out.Idle, r.rest[i])
			}
		}
	}
	return out
}

// stretches are the bursts that began in each, where any did.
func (r *Record) stretches() [][]int {
	of := make([][]int, Stretches)
	for i, at := range r.at {
		k := min(Stretches-1, int(at/r.Span*Stretches))
		of[k] = append(of[k], i)
	}
	return slices.DeleteFunc(of, func(s []int) bool { return len(s) == 0 })
}

// Drawn is how many stretches there are to draw.
func (r *Record) Drawn() int { return len(r.stretches()) }

// Replay is the record as a closed workload: each CPU that had bursts is a user who
// stays on one CPU and computes and idles for lengths drawn from the record. It keeps
// both lengths, which is what a governor sees, and fixes the load.
func (r *Record) Replay(name string) model.Workload {
	w := r.workload(name)
	w.Users, w.Think, w.Placement = r.Active, empirical(r.Idle), model.Sticky
	return w
}

// Open is the record as an open workload: its bursts arrive at random at any load.
func (r *Record) Open(name string) model.Workload {
	w := r.workload(name)
	w.Placement = model.Spread
	return w
}

func (r *Record) workload(name string) model.Workload {
	return model.Workload{
		Name: name, Kind: model.Dialog, Slices: 1, Slice: empirical(r.Busy),
		Source: fmt.Sprintf("record of %d bursts on %d CPUs from %s (%s%s)", len(r.Busy), len(r.CPUs),
			r.Started.UTC().Format("2006-01-02 15:04 MST"), r.Source, r.sample()),
	}
}

func (r *Record) sample() string {
	if !r.sampled() || r.Seen == 1 {
		return ""
	}
	return fmt.Sprintf(", in %.3g %% of %s", r.Seen*100, seconds(r.Length))
}

func empirical(lengths []float64) model.Dist {
	if len(lengths) == 0 {
		return model.Dist{}
	}
	v := slices.Sorted(slices.Values(lengths))
	if len(v) > most {
		joined := make([]float64, most)
		for i := range joined {
			from, to := i*len(v)/most, (i+1)*len(v)/most
			for _, x := range v[from:to] {
				joined[i] += x / float64(to-from)
			}
		}
		v = joined
	}
	d := model.Dist{Kind: model.DistEmpirical, Values: v}
	for _, x := range v {
		d.Mean += x / float64(len(v))
	}
	return d
}
