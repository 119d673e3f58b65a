package scanlock

import (
	"context"
	"sync/atomic"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/stats"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

// distanceJob is the name of the worker that throws a cache line between two CPUs.
const distanceJob = "scanlock-distance"

// distanceRequest names the two CPUs.
type distanceRequest struct{ A, B int }

func newDistance() worker.Func {
	clock := hot.StartClock()
	thrower := NewThrower(clock)
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(r distanceRequest) (float64, error) { return thrower.Throw(r.A, r.B, 5) })
}

// How long a line takes also depends on where in the last-level cache its address has
// its home. So the same lines are thrown each time, and several, which lie in pages of
// their own.
const (
	balls = 8
	apart = 33 // lines from one to the next
)

// Thrower measures how far apart two CPUs are, in a worker process.
type Thrower struct {
	clock hot.Clock
	lines *[balls * apart]hot.Line
}

// NewThrower takes a clock that has run for some 50 ms when Throw is called.
func NewThrower(clock hot.Clock) *Thrower {
	return &Thrower{clock, hot.New[[balls * apart]hot.Line]()}
}

// Throw returns for how many seconds a cache line goes one way between two CPUs. A try
// takes about a millisecond. The median of batches holds where others interrupt one of
// the threads, and that of several tries where the host does something else for a
// moment; 0, where in most of them the threads hardly met.
func (t *Thrower) Throw(a, b, tries int) (float64, error) {
	var got []float64
	for try := range tries {
		if try > 0 {
			time.Sleep(time.Millisecond)
		}
		for i := range t.lines {
			atomic.StoreUint64(&t.lines[i].V, 0)
		}
		ticks, err := t.once(a, b)
		if err != nil {
			return 0, err
		}
		if ticks > 0 {
			got = append(got, ticks)
		}
	}
	if len(got) <= tries/2 {
		return 0, nil
	}
	return stats.Median(got) / t.clock.Rate(), nil
}

// once is one try, in ticks; 0: they hardly met.
func (t *Thrower) once(cpuA, cpuB int) (float64, error) {
	const throws, rounds = 200, 3
	stop := hot.New[hot.Word]()
	timer := time.AfterFunc(20*time.Millisecond, func() { atomic.StoreUint32(&stop.V, 1) })
	defer timer.Stop()
	var times []float64
	err := thread.Together([]int{cpuA, cpuB}, 2*time.Second, func(side int, _ *atomic.Bool) error {
		for b := range uint64(rounds * balls) {
			start := hot.Ticks()
			if hot.PingPong(&t.lines[b%balls*apart], 2*throws*(b/balls)+uint64(side), throws, stop) < throws {
				break
			}
			if side == 0 && b >= balls { // the first batch waits for the other to come, and the first round for its pages
				times = append(times, float64(hot.Ticks()-start)/(2*throws))
			}
		}
		return nil
	})
	if len(times) < balls || err != nil {
		return 0, err
	}
	return stats.Median(times), nil
}

// throwing is a worker that measures distances.
type throwing struct{ worker.Kept }

// distance measures how far apart two CPUs are; 0: they hardly met.
func (t *throwing) distance(ctx context.Context, a, b int) (seconds float64, err error) {
	t.Job = distanceJob
	err = t.Call(ctx, 2, distanceRequest{a, b}, &seconds)
	return seconds, err
}
