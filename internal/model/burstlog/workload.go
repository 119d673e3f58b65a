package burstlog

import (
	"fmt"

	"hostlab/internal/model"
)

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
	return min(1, r.sum()/(span*float64(len(r.CPUs))))
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
	if !r.sampled() || r.Seen == 1 {
		return ""
	}
	return fmt.Sprintf(", in %.3g %% of %s", r.Seen*100, seconds(r.Length))
}
