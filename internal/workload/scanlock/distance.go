package scanlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/workload/corun"
	"hostlab/internal/workload/hot"
	"hostlab/internal/workload/thread"
	"hostlab/internal/workload/worker"
)

// distanceJob is the name of the worker that throws a cache line between two CPUs.
const distanceJob = "scanlock-distance"

// distanceRequest names the two CPUs.
type distanceRequest struct{ A, B int }

// distanceReply is the time one way in seconds, 0 where they hardly met: others kept
// one of the CPUs busy. Gone is a CPU that cannot be used.
type distanceReply struct {
	Seconds float64
	Gone    string `json:",omitempty"`
}

func newDistance() worker.Func {
	clock := hot.StartClock()
	lines := hot.New[[balls * apart]hot.Line]()
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(r distanceRequest) (distanceReply, error) {
		s, err := throw(clock, lines, r)
		if errors.Is(err, thread.ErrNoCPU) {
			return distanceReply{Gone: err.Error()}, nil
		}
		return distanceReply{Seconds: s}, err
	})
}

// How long a line takes also depends on where in the last-level cache its address has
// its home. So the same lines are thrown each time, and several, which lie in pages of
// their own.
const (
	balls = 8
	apart = 33 // lines from one to the next
)

// throw takes a few milliseconds. The median of batches holds where others interrupt
// one of the threads, and that of several tries where the host does something else for
// a moment; 0, where in most of them the threads hardly met.
func throw(clock hot.Clock, lines *[balls * apart]hot.Line, r distanceRequest) (float64, error) {
	if r.A == r.B {
		return 0, fmt.Errorf("CPU %d throws to itself", r.A)
	}
	const tries = 5
	var got []float64
	for range tries {
		for i := range lines {
			atomic.StoreUint64(&lines[i].V, 0)
		}
		ticks, err := throwOnce(lines, r)
		if err != nil {
			return 0, err
		}
		if ticks > 0 {
			got = append(got, ticks)
		}
		time.Sleep(time.Millisecond)
	}
	if len(got) <= tries/2 {
		return 0, nil
	}
	return stats.Median(got) / clock.Rate(), nil
}

// throwOnce is one try, in ticks; 0: they hardly met.
func throwOnce(lines *[balls * apart]hot.Line, r distanceRequest) (float64, error) {
	const throws, rounds = 200, 3
	stop := hot.New[hot.Word]()
	timer := time.AfterFunc(20*time.Millisecond, func() { atomic.StoreUint32(&stop.V, 1) })
	defer timer.Stop()
	var times []float64
	err := corun.Together([]int{r.A, r.B}, 2*time.Second, func(side int, _ *hot.Word) error {
		for b := range uint64(rounds * balls) {
			start := hot.Ticks()
			if hot.PingPong(&lines[b%balls*apart], 2*throws*(b/balls)+uint64(side), throws, stop) < throws {
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

// distance measures how far apart two CPUs are; 0: they hardly met.
func (s *session) distance(ctx context.Context, a, b int) (float64, error) {
	var r distanceReply
	if err := s.thrower.Call(ctx, 2, distanceRequest{a, b}, &r); err != nil {
		return 0, err
	}
	if r.Gone != "" {
		return 0, errors.New(r.Gone)
	}
	return r.Seconds, nil
}
