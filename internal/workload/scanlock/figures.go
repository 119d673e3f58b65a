package scanlock

import (
	"math"

	"hostlab/internal/cpus"
)

// Row is what one thread did in a stretch of time. What a thread of its role does not
// do is 0; what is not known is NaN.
type Row struct {
	ID             int        `json:"id"` // from 0, scanners first
	Role           Role       `json:"role"`
	CPU            int        `json:"cpu"`
	Affinity       string     `json:"affinity"` // CPU as the program of 2005 prints it
	Near           cpus.Place `json:"place,omitzero"`
	Acquisitions   uint64     `json:"acquisitions"`
	Spins          uint64     `json:"spins"`
	Scans          uint64     `json:"scans"`
	PerSecond      float64    `json:"acquisitions_per_s"`
	SpinsPerSecond float64    `json:"spins_per_s"`
	ScansPerSecond float64    `json:"scans_per_s"`           // of its whole block
	SpinsPer       float64    `json:"spins_per_acquisition"` // NaN without any
	// its part of all acquisitions over that of an equal split; NaN without any
	OfFair float64 `json:"of_fair_share"`
	OnCPU  float64 `json:"on_cpu"` // shares of the time: on the CPU,
	Waited float64 `json:"waited"` // and waiting while others had it
}

// Table is what all threads did in a stretch of time.
type Table struct {
	Seconds   float64
	Rows      []Row
	Locks     int     // threads that take the lock
	PerSecond float64 // acquisitions of all threads, 1/s
	Scans     float64 // scans of all scanners, 1/s
}

// Between is what a plan's threads did between two snapshots.
func Between(p Plan, from, to Snapshot) Table {
	t := Table{Seconds: (to.At - from.At).Seconds()}
	rate := func(n uint64) float64 { return float64(n) / t.Seconds }
	unknown := math.NaN()
	var all uint64
	for i, now := range to.Counts {
		before := Count{}
		if i < len(from.Counts) {
			before = from.Counts[i]
		}
		did := now.since(before)
		r := Row{ID: i, CPU: now.CPU, Role: now.Role, Affinity: cpus.Affinity(now.CPU), Near: p.Near[i],
			Acquisitions: did.Acquisitions,
			Spins:        did.Spins, Scans: did.Rounds, PerSecond: rate(did.Acquisitions), SpinsPerSecond: rate(did.Spins),
			ScansPerSecond: rate(did.Rounds), SpinsPer: unknown, OfFair: unknown, OnCPU: unknown, Waited: unknown}
		if r.Acquisitions > 0 {
			r.SpinsPer = float64(r.Spins) / float64(r.Acquisitions)
		}
		if now.HasCPU {
			r.OnCPU = min(1, did.CPUTime.Seconds()/t.Seconds)
		}
		if now.HasWaited {
			r.Waited = min(1, did.Waited.Seconds()/t.Seconds) // read a moment after the others
		}
		if r.Role == Lock {
			t.Locks++
		}
		all += r.Acquisitions
		t.Scans += r.ScansPerSecond
		t.Rows = append(t.Rows, r)
	}
	t.PerSecond = rate(all)
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Role == Lock && all > 0 {
			r.OfFair = float64(r.Acquisitions) * float64(t.Locks) / float64(all)
		}
	}
	return t
}
