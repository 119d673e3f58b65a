package scanlock

import (
	"math"
	"slices"

	"hostlab/internal/cpus"
)

// Row is what one thread did in a stretch of time. What a thread of its role does not
// do is 0; what is not known is NaN.
type Row struct {
	ID              int     `json:"id"` // from 0, scanners first
	Role            Role    `json:"role"`
	CPU             int     `json:"cpu"`
	Affinity        string  `json:"affinity"` // CPU as the program of 2005 prints it
	Near            Near    `json:"place"`
	Acquisitions    uint64  `json:"acquisitions"`
	Spins           uint64  `json:"spins"`
	Rounds          uint64  `json:"rounds"`
	PerSecond       float64 `json:"acquisitions_per_s"`
	SpinsPerSecond  float64 `json:"spins_per_s"`
	ScansPerSecond  float64 `json:"scans_per_s"` // of its block, by a scanner
	RoundsPerSecond float64 `json:"rounds_per_s"`
	SpinsPer        float64 `json:"spins_per_acquisition"` // NaN without any
	// of all acquisitions; NaN without any, and of others than lock threads
	Share  float64 `json:"share"`
	OfFair float64 `json:"of_fair_share"` // Share over that of an equal split
	OnCPU  float64 `json:"on_cpu"`        // shares of the time: on the CPU,
	Waited float64 `json:"waited"`        // and waiting while others had it
}

// Locks reports whether the thread takes the lock.
func (r Row) Locks() bool { return r.Role.Takes() }

// Table is what all threads did in a stretch of time.
type Table struct {
	Seconds   float64
	Rows      []Row
	Locks     int      // threads that take the lock
	PerSecond float64  // acquisitions of all threads, 1/s
	Scans     float64  // rounds of all scanners, 1/s
	Jain      float64  // Jain's index of fairness: 1 for equal shares, 1/n where one thread has all; NaN without acquisitions
	Waits     []uint64 // acquisitions by how long they took, in the classes of workload/scanlock; nil: not measured
}

// Between is what a plan's threads did between two snapshots.
func Between(p Plan, from, to Snapshot) Table {
	t := Table{Seconds: (to.At - from.At).Seconds(), Jain: math.NaN()}
	rate := func(n uint64) float64 { return float64(n) / t.Seconds }
	unknown := math.NaN()
	var all uint64
	var each []float64
	for i, now := range to.Counts {
		before := Count{}
		if i < len(from.Counts) {
			before = from.Counts[i]
		}
		did := now.since(before)
		r := Row{ID: i, CPU: now.CPU, Role: now.Role, Affinity: cpus.Affinity(now.CPU), Acquisitions: did.Acquisitions,
			Spins: did.Spins, Rounds: did.Rounds,
			PerSecond: rate(did.Acquisitions), SpinsPerSecond: rate(did.Spins), RoundsPerSecond: rate(did.Rounds),
			SpinsPer: unknown, Share: unknown, OfFair: unknown, OnCPU: unknown, Waited: unknown}
		if i < len(p.Near) {
			r.Near = p.Near[i]
		}
		if r.Acquisitions > 0 {
			r.SpinsPer = float64(r.Spins) / float64(r.Acquisitions)
		}
		if now.HasCPU {
			r.OnCPU = min(1, did.CPUTime.Seconds()/t.Seconds)
		}
		if now.HasWaited {
			r.Waited = min(1, did.Waited.Seconds()/t.Seconds) // read a moment after the others
		}
		if r.Role == Scan {
			r.ScansPerSecond = r.RoundsPerSecond
		}
		if r.Locks() {
			all += r.Acquisitions
			each = append(each, float64(r.Acquisitions))
		} else {
			t.Scans += r.RoundsPerSecond
		}
		t.Rows = append(t.Rows, r)
	}
	t.Locks, t.PerSecond = len(each), rate(all)
	if all > 0 {
		t.Jain = Jain(each)
		for i := range t.Rows {
			if r := &t.Rows[i]; r.Locks() {
				r.Share = float64(r.Acquisitions) / float64(all)
				r.OfFair = r.Share * float64(len(each))
			}
		}
	}
	if to.Waits != nil {
		t.Waits = make([]uint64, len(to.Waits))
		for i, n := range to.Waits {
			t.Waits[i] = n
			if i < len(from.Waits) {
				t.Waits[i] -= from.Waits[i]
			}
		}
	}
	return t
}

// group holds rows that share one line.
type group struct {
	role       Role
	near       Near
	cpus       []int
	rates      []float64
	fair       []float64
	spins, got uint64
}

// groups puts threads of one role and distance together, in the order of the rows.
func (t Table) groups() (out []*group) {
	for _, r := range t.Rows {
		i := slices.IndexFunc(out, func(g *group) bool { return g.role == r.Role && g.near == r.Near })
		if i < 0 {
			i, out = len(out), append(out, &group{role: r.Role, near: r.Near})
		}
		g := out[i]
		g.cpus, g.rates, g.fair = append(g.cpus, r.CPU), append(g.rates, r.rate()), append(g.fair, r.OfFair)
		g.spins, g.got = g.spins+r.Spins, g.got+r.Acquisitions
	}
	return out
}

// rate is that of acquisitions, or else of rounds.
func (r Row) rate() float64 {
	if r.Locks() {
		return r.PerSecond
	}
	return r.RoundsPerSecond
}
