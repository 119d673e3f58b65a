package dialog

import (
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/model"
	"hostlab/internal/thread"
)

// chunk is how much work is done at full speed before the spin that makes up for the
// slow clock: longer than a spin's overhead by far, shorter than all that a governor
// or a slice could tell.
const chunk = 500 * time.Microsecond

// spinAdds is a piece of a spin, less than a microsecond: after it the clock is read.
const spinAdds = 1024

// core runs work on one CPU, slowed down as its emulated clock says. Its functions
// are fields so that tests can put time of their own in their place.
type core struct {
	clock *model.Clock         // nil: the host's own clock
	chunk uint64               // operations
	now   func() time.Duration // since the run began
	used  func() time.Duration // CPU time of the thread; now, where that is not known
	adds  func(n uint64) uint64
	lost  time.Duration // that others had the CPU in the midst of work
}

func newCore(clock *model.Clock, rate float64, start time.Time) *core {
	c := &core{clock: clock, chunk: max(1, uint64(rate*chunk.Seconds())), adds: hot.Adds,
		now: func() time.Duration { return time.Since(start) }}
	c.used = func() time.Duration { t, _ := thread.CPUTime(); return t }
	if _, ok := thread.CPUTime(); !ok {
		c.used = c.now
	}
	return c
}

// work does n operations for a task. After each chunk it spins for as long as the slow
// clock would still have needed. What others take from the CPU is no progress, and no
// time for the governor either: it sees this workload alone, so that company makes
// steps longer but does not change what a policy costs. A change of speed in the midst
// of a spin counts from its moment on. It returns the time on the CPU, spins included.
func (c *core) work(task *model.Task, n uint64) time.Duration {
	wall, begin := c.now(), c.used()
	speed := func(at time.Duration) float64 { return c.clock.Speed(wall - c.lost + at - begin) }
	if c.clock == nil {
		speed = func(time.Duration) float64 { return 1 }
	} else {
		c.clock.Start(wall-c.lost, task)
	}
	at, owed := begin, 0.0 // ns of work that the slow clock has not done yet
	for n > 0 {
		k := min(n, c.chunk)
		n -= k
		share := speed(at)
		c.adds(k)
		t := c.used()
		owed += float64(t-at) * (1 - share)
		for at = t; owed > 0; at = t {
			c.adds(spinAdds)
			t = c.used()
			owed -= float64(t-at) * speed(t)
		}
	}
	c.lost += max(0, c.now()-wall-(at-begin))
	return at - begin
}

// idle tells the governor that there is no work.
func (c *core) idle() {
	if c.clock != nil {
		c.clock.Stop(c.now() - c.lost)
	}
}

// calibrate counts the operations per second of this thread's CPU at full speed: the
// best of many short stretches, after a while in which the clock comes up.
func calibrate() float64 {
	c := newCore(nil, 1, time.Now())
	best, n := 0.0, uint64(1<<20)
	for begin := time.Now(); time.Since(begin) < 150*time.Millisecond; {
		from := c.used()
		did := c.adds(n)
		if took := c.used() - from; took > 0 {
			best = max(best, float64(did)/took.Seconds())
		}
	}
	return best
}
