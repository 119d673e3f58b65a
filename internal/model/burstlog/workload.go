package burstlog

import (
	"fmt"
	"slices"

	"hostlab/internal/model"
)

// most is how many values a distribution keeps. More are joined in groups of equal
// size by their means, which keeps the mean and blurs only neighbours in rank.
const most = 5000

// Load is the busy share of all CPUs that were watched, 0 to 1.
func (r *Record) Load() float64 {
	busy := 0.0
	for _, b := range r.Busy {
		busy += b
	}
	return min(1, busy/(r.Span*float64(len(r.CPUs))))
}

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
		Source: fmt.Sprintf("record of %d bursts on %d CPUs from %s (%s)", len(r.Busy), len(r.CPUs), r.Started.UTC().Format("2006-01-02 15:04 MST"), r.Source),
	}
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
