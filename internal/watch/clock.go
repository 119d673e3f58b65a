package watch

import "time"

// clock counts what CPUs do while they are busy.
type clock interface {
	// read returns what a CPU has counted. It interrupts that CPU, so that idle
	// ones are not asked.
	read(cpu int) (counts, error)
	close()
}

// counts are a CPU's counters. Either Actual, Reference and TSC are there, or Actual
// alone, which then counts cycles while not idle.
type counts struct{ Actual, Reference, TSC float64 }

// tally is when a CPU was last asked.
type tally struct {
	at     time.Time
	busy   float64 // s since boot
	counts counts
}

// leastBusy is how long a CPU must have been busy since it was asked before it is
// asked again, in s: /proc/stat counts in ticks of 10 ms, and a frequency read from
// less than five of them could be off by a fifth.
const leastBusy = 0.05

// effective returns the frequency at which the CPU worked while it was busy since it
// was last asked. Its counters stand still while it sleeps.
func (s *Sampler) effective(f *cpuFiles, c *CPUReading, now time.Time) float64 {
	busy := c.Times.Busy()
	if !f.last.at.IsZero() && busy-f.last.busy < leastBusy {
		return unknown
	}
	got, err := s.clock.read(c.ID)
	if err != nil {
		s.without("effective frequency", err)
		return unknown
	}
	last := f.last
	f.last = tally{now, busy, got}
	if last.at.IsZero() {
		return unknown
	}
	return hertz(last, f.last)
}

func hertz(a, b tally) float64 {
	actual := b.counts.Actual - a.counts.Actual
	if actual <= 0 {
		return unknown
	}
	if reference := b.counts.Reference - a.counts.Reference; reference > 0 {
		// MPERF counts at the rate of the TSC while not idle (Intel SDM, volume 3, 15.2).
		rate := (b.counts.TSC - a.counts.TSC) / b.at.Sub(a.at).Seconds()
		return actual / reference * rate
	}
	return actual / (b.busy - a.busy)
}
