// Package thread pins the calling thread to a CPU and reads what the operating
// system did to it: how long it ran and how long it waited to run. A measurement that shares its CPU must know it.
package thread

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoCPU means that a CPU cannot be used: it is offline, does not exist, or
// lies outside the CPUs that this process may use.
var ErrNoCPU = errors.New("offline, or not among the CPUs this process may use")

// Usage is what a thread has used since it started. A field is meaningful only
// if its Has field is true; systems differ in what they count.
type Usage struct {
	CPU    time.Duration // on a CPU; excludes what the hypervisor reports as stolen
	Waited time.Duration // ready to run, but another thread had the CPU, or a quota was used up

	HasCPU, HasWaited bool
}

// Sub returns the usage since an earlier reading of the same thread.
func (u Usage) Sub(before Usage) Usage {
	return Usage{
		CPU: u.CPU - before.CPU, HasCPU: u.HasCPU && before.HasCPU,
		Waited: u.Waited - before.Waited, HasWaited: u.HasWaited && before.HasWaited,
	}
}

// Spent is the CPU time that do takes of the thread on which it runs; 0 where that is not counted.
func Spent(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _ := CPUTime()
	do()
	after, _ := CPUTime()
	return after - before
}

// On is Within for one CPU. An error of it, ErrNoCPU, names the CPU.
func On(cpu int, f func() error) <-chan error { return Within([]int{cpu}, f) }

// Within runs f on a new thread that may use some CPUs, nil for all that the process may
// use, and ends with f; and sends its error to the channel.
func Within(cpus []int, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		// confine locks the goroutine to its thread, and nothing unlocks it: the runtime
		// then ends the thread instead of reusing one with a narrowed affinity.
		err := confine(cpus)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return done
}

// Together runs f once per CPU at the same time, each on its pinned thread, after all
// of them have arrived. abort is set when one cannot, or when the limit is reached, in
// which two threads may turn out not to run at the same time at all.
func Together(cpus []int, limit time.Duration, f func(side int, abort *atomic.Bool) error) error {
	var abort atomic.Bool
	var here atomic.Int32
	timer := time.AfterFunc(limit, func() { abort.Store(true) })
	defer timer.Stop()
	errs := make([]error, len(cpus))
	var all sync.WaitGroup
	for i, cpu := range cpus {
		all.Go(func() {
			errs[i] = <-On(cpu, func() error {
				here.Add(1)
				for here.Load() < int32(len(cpus)) && !abort.Load() {
				}
				err := f(i, &abort)
				if err == nil && !Pinned(cpu) {
					err = fmt.Errorf("CPU %d went offline: %w", cpu, ErrNoCPU)
				}
				return err
			})
			if errs[i] != nil {
				abort.Store(true)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
