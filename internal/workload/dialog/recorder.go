package dialog

import (
	"time"

	"hostlab/internal/model/burstlog"
)

// recorder keeps how long a CPU computed for its thread and idled. Idle times too
// short to tell from the pool's own work are part of the burst. A burst is as long as
// the thread's CPU time, spins included: while others had the CPU the thread did no
// work, and a prediction would slow that time as if it were. It counts as idle, so
// that the bursts of a CPU still follow each other without a hole.
type recorder struct {
	cpu     int
	on      bool
	within  bool
	from    time.Duration // of the present stretch of work
	used    time.Duration // the thread's CPU time then
	ended   time.Duration // when there was no work any more
	stalled time.Duration // there was work, but not the CPU for it
	out     []burst
}

// burst is one of the record, to the nanosecond.
type burst struct{ at, busy, idle time.Duration }

const shortest = 20 * time.Microsecond

// busy begins a stretch of work. used is the thread's CPU time, asked for only where
// there is a record.
func (r *recorder) busy(at time.Duration, used func() time.Duration) {
	if !r.on || r.within {
		return
	}
	r.within, r.from, r.used = true, at, used()
	if n := len(r.out) - 1; n >= 0 {
		last := &r.out[n]
		if gap := at - r.ended; gap < shortest {
			last.busy += gap
			return // it goes on
		}
		last.idle = at - last.at - last.busy
	}
	r.out = append(r.out, burst{at: at})
}

// idle ends it.
func (r *recorder) idle(at time.Duration, used func() time.Duration) {
	if !r.on || !r.within {
		return
	}
	// The two clocks are not read at one moment, and no burst is empty.
	did := max(1, min(used()-r.used, at-r.from))
	r.out[len(r.out)-1].busy += did
	r.stalled += max(0, at-r.from-did)
	r.within, r.ended = false, at
}

// finish closes the last burst's idle time and returns all.
func (r *recorder) finish(at time.Duration) []burstlog.Burst {
	out := make([]burstlog.Burst, len(r.out))
	for i, b := range r.out {
		if i == len(r.out)-1 {
			b.idle = max(0, at-b.at-b.busy)
		}
		out[i] = burstlog.Burst{CPU: r.cpu, At: b.at.Seconds(), Busy: b.busy.Seconds(), Idle: b.idle.Seconds()}
	}
	return out
}
