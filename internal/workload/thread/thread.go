// Package thread pins the calling thread to a CPU and reads what the operating
// system did to it: how long it ran and how long it waited to run. A measurement that shares its CPU must know it.
package thread

import (
	"errors"
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

// On runs f on a new thread that is pinned to a CPU and ends with f, and sends
// its error, or ErrNoCPU in one that names the CPU, to the channel.
func On(cpu int, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		// Pin locks the goroutine to its thread, and nothing unlocks it: the runtime
		// then ends the thread instead of reusing one with a narrowed affinity.
		err := Pin(cpu)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return done
}

// Within runs f on a new thread that may use any of some CPUs, nil for all that the
// process may use, and ends with f; and sends its error to the channel.
func Within(cpus []int, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := confine(cpus) // locks the goroutine to its thread, as Pin does
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return done
}
