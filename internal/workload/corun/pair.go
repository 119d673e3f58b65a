package corun

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hostlab/internal/workload/hot"
	"hostlab/internal/workload/thread"
)

// Side is what one thread of a cell saw, in seconds.
type Side struct {
	Median    float64 // of chunks, in cells that time them
	Wall      float64
	CPU       float64
	Waited    float64 // of Wall, for other threads of this system
	HasCPU    bool
	HasWaited bool
	Locked    uint64 // acquisitions
	Spins     uint64 // polls that found the lock held
	Rounds    uint64 // of an antagonist
}

// Seconds is the time on the CPU where that is known.
func (s Side) Seconds() float64 {
	if s.HasCPU {
		return s.CPU
	}
	return s.Wall
}

// Time runs f between two readings of the thread's usage and fills s.
func (s *Side) Time(clock hot.Clock, f func()) {
	before, start := thread.Read(), hot.Ticks()
	f()
	ticks := hot.Ticks() - start
	u := thread.Read().Sub(before)
	s.Wall = float64(ticks) / clock.Rate()
	s.CPU, s.HasCPU = u.CPU.Seconds(), u.HasCPU
	s.Waited, s.HasWaited = u.Waited.Seconds(), u.HasWaited
}

// Together runs f once per CPU at the same time, each on its pinned thread, after all
// of them have arrived. The abort word becomes 1 when one cannot, or the limit is
// reached, in which two threads may turn out not to run at the same time at all.
func Together(cpus []int, limit time.Duration, f func(side int, abort *hot.Word) error) error {
	abort := hot.New[hot.Word]()
	var here atomic.Int32
	timer := time.AfterFunc(limit, func() { atomic.StoreUint32(&abort.V, 1) })
	defer timer.Stop()
	var ends []<-chan error
	for i, cpu := range cpus {
		ended := make(chan error, 1)
		ends = append(ends, ended)
		on := thread.On(cpu, func() error {
			here.Add(1)
			for here.Load() < int32(len(cpus)) && atomic.LoadUint32(&abort.V) == 0 {
			}
			err := f(i, abort)
			if err == nil && !thread.Pinned(cpu) {
				err = fmt.Errorf("CPU %d went offline: %w", cpu, thread.ErrNoCPU)
			}
			return err
		})
		go func() {
			err := <-on
			if err != nil {
				atomic.StoreUint32(&abort.V, 1)
			}
			ended <- err
		}()
	}
	var all []error
	for _, end := range ends {
		all = append(all, <-end)
	}
	return errors.Join(all...)
}
