package scanlock

import (
	"math"

	"hostlab/internal/stats"
)

// Row is what one thread did in a stretch of time. What a thread of its role does not
// do is 0; what is not known is NaN.
type Row struct {
	ID                          int // from 0, scanners first
	CPU                         int
	Role                        Role
	Near                        Near
	Acquisitions, Spins, Rounds uint64
	PerSecond                   float64 // acquisitions, 1/s
	SpinsPerSecond              float64 // 1/s
	RoundsPerSecond             float64 // 1/s; of a scanner: scans of its block
	SpinsPer                    float64 // per acquisition; NaN without any
	Share                       float64 // of all acquisitions; NaN without any, and of others than lock threads
	OfFair                      float64 // Share over that of an equal split
	OnCPU, Waited               float64 // shares of the time: on the CPU, and waiting while others had it; NaN: not known
}

// Locks reports whether the thread takes the lock.
func (r Row) Locks() bool { return r.Role == Lock || r.Role == Own }

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
	var all uint64
	var each []float64
	for i, now := range to.Counts {
		before := Count{}
		if i < len(from.Counts) {
			before = from.Counts[i]
		}
		r := Row{ID: i, CPU: now.CPU, Role: now.Role, Acquisitions: now.Acquisitions - before.Acquisitions, Spins: now.Spins - before.Spins,
			Rounds: now.Rounds - before.Rounds, SpinsPer: math.NaN(), Share: math.NaN(), OfFair: math.NaN(), OnCPU: math.NaN(), Waited: math.NaN()}
		if i < len(p.Near) {
			r.Near = p.Near[i]
		}
		r.PerSecond, r.SpinsPerSecond, r.RoundsPerSecond = rate(r.Acquisitions), rate(r.Spins), rate(r.Rounds)
		if r.Acquisitions > 0 {
			r.SpinsPer = float64(r.Spins) / float64(r.Acquisitions)
		}
		if now.HasCPU {
			r.OnCPU = min(1, (now.CPUTime-before.CPUTime).Seconds()/t.Seconds)
		}
		if now.HasWaited {
			r.Waited = min(1, (now.Waited-before.Waited).Seconds()/t.Seconds) // read a moment after the others
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
	waited     float64 // the most of any; NaN: not known
}

// groups puts threads of one role and distance together, in the order of the rows.
func (t Table) groups() []*group {
	var out []*group
	at := map[[2]string]*group{}
	for _, r := range t.Rows {
		key := [2]string{string(r.Role), string(r.Near)}
		g := at[key]
		if g == nil {
			g = &group{role: r.Role, near: r.Near, waited: math.NaN()}
			at[key], out = g, append(out, g)
		}
		rate := r.PerSecond
		if !r.Locks() {
			rate = r.RoundsPerSecond
		}
		g.cpus, g.rates, g.fair = append(g.cpus, r.CPU), append(g.rates, rate), append(g.fair, r.OfFair)
		g.spins, g.got = g.spins+r.Spins, g.got+r.Acquisitions
		if !math.IsNaN(r.Waited) && !(g.waited >= r.Waited) {
			g.waited = r.Waited
		}
	}
	return out
}

func (g *group) median() float64 { return stats.Median(g.rates) }

// spinsPer is per acquisition of the group; NaN without any.
func (g *group) spinsPer() float64 {
	if g.got == 0 {
		return math.NaN()
	}
	return float64(g.spins) / float64(g.got)
}
