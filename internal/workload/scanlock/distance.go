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
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(r distanceRequest) (distanceReply, error) {
		s, err := throw(clock, r)
		if errors.Is(err, thread.ErrNoCPU) {
			return distanceReply{Gone: err.Error()}, nil
		}
		return distanceReply{Seconds: s}, err
	})
}

// throw takes a few milliseconds. The median of batches holds where others interrupt
// one of the threads.
func throw(clock hot.Clock, r distanceRequest) (float64, error) {
	const throws, batches, wanted = 500, 24, 8
	if r.A == r.B {
		return 0, fmt.Errorf("CPU %d throws to itself", r.A)
	}
	line, stop := hot.New[hot.Line](), hot.New[hot.Word]()
	timer := time.AfterFunc(60*time.Millisecond, func() { atomic.StoreUint32(&stop.V, 1) })
	defer timer.Stop()
	var times []float64
	err := corun.Together([]int{r.A, r.B}, 2*time.Second, func(side int, _ *hot.Word) error {
		for b := range uint64(batches) {
			start := hot.Ticks()
			if hot.PingPong(line, 2*throws*b+uint64(side), throws, stop) < throws {
				break
			}
			if side == 0 && b > 0 { // the first batch waits for the other to come
				times = append(times, float64(hot.Ticks()-start)/(2*throws))
			}
		}
		return nil
	})
	if len(times) < wanted {
		return 0, err
	}
	return stats.Median(times) / clock.Rate(), err
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
