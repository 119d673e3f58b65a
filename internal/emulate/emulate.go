// Package emulate imitates a slow clock for the processes of a workload on a host
// that has no frequency to change: a power policy's rule runs in user space on what
// the processes use, and they are kept from their CPUs for the share of time that the
// rule's frequency would have cost, by SIGSTOP and SIGCONT every 2 ms. It needs no privilege.
//
// All processes share one emulated frequency, that of the rule for their busiest
// thread, as on a socket whose cores cannot differ. What memory waits would not lose at
// a low clock is lost here too. Such runs are evidence "emulated".
package emulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/worker"
)

// Resolution is how often processes are looked at. One that lives shorter may never be
// seen, and is neither slowed down nor billed.
const Resolution = 8 * time.Millisecond

// Check returns what is wrong with a policy, as model.ParsePolicy reads it, and a floor.
func Check(policy string, floor float64) error {
	_, err := newClock(policy, floor)
	return err
}

func newClock(policy string, floor float64) (*model.Clock, error) {
	if !(floor >= 0.05 && floor <= 1) {
		return nil, fmt.Errorf("floor %g: it is the lowest speed as a share of full speed, 0.05 to 1", floor)
	}
	p, err := model.ParsePolicy(policy)
	if err != nil {
		return nil, err
	}
	return model.NewClock(p, model.Stepped(1, floor), 0)
}

// Totals is what was emulated since the start.
type Totals struct {
	Used float64 `json:"used"` // s of CPU time that the processes had
	// s of CPU time that they would have had at the emulated clock: Used over speed, summed
	Clocked float64 `json:"clocked"`
	// s of wall time that the policy asked to keep the processes from their CPUs while they had work
	Asked  float64 `json:"asked"`
	Kept   float64 `json:"kept"`   // s of wall time that they were kept from them while they had work, as measured
	Billed float64 `json:"billed"` // s of Kept, times the threads that it hit at once
	Speed  float64 `json:"speed"`  // now
}

// Sub is what was emulated between two readings.
func (t Totals) Sub(before Totals) Totals {
	t.Used -= before.Used
	t.Clocked -= before.Clocked
	t.Asked -= before.Asked
	t.Kept -= before.Kept
	t.Billed -= before.Billed
	return t
}

// Emulation is a governor in user space, in a process of its own, for everything that
// this process has started or will start. Close must be called.
type Emulation struct {
	s       *worker.Session
	root    int
	closing atomic.Bool
	lost    chan struct{}
}

// Lost is closed when the governor has ended without Close: everything then runs at full
// speed, and calls give errors.
func (e *Emulation) Lost() <-chan struct{} { return e.lost }

// request is what the governor's process is asked.
type request struct {
	Action string
	Root   int  // whose descendants are slowed down
	Whole  bool // and itself
	Policy string
	Floor  float64 // lowest speed, share of full speed
}

// Start starts a governor, at full speed. It outlives no end of this process: its input
// then ends, and it lets everything go. Should it be killed itself, this process does.
func Start() (*Emulation, error) { return begin(os.Getpid(), false) }

// StartFor is Start for a process that this one has not started, with all that it starts: a
// service's first one.
func StartFor(pid int) (*Emulation, error) { return begin(pid, true) }

func begin(root int, whole bool) (*Emulation, error) {
	if err := Usable(); err != nil {
		return nil, err
	}
	// A kill would leave processes stopped, so no context that can be cancelled.
	s, err := worker.Start(context.Background(), job, 2)
	if err != nil {
		return nil, err
	}
	e := &Emulation{s: s, root: root, lost: make(chan struct{})}
	e.watch()
	if err := e.call(request{Action: actionStart, Root: root, Whole: whole}, nil); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return e, nil
}

// Set puts a policy in force, from the state of an idle CPU. There are states every 5 % down to
// the floor.
func (e *Emulation) Set(policy string, floor float64) error {
	return e.call(request{Action: actionSet, Policy: policy, Floor: floor}, nil)
}

// Totals reads what was emulated so far.
func (e *Emulation) Totals() (t Totals, err error) {
	return t, e.call(request{Action: actionRead}, &t)
}

// Release lets all processes run at full speed, until Set.
func (e *Emulation) Release() error { return e.call(request{Action: actionRelease}, nil) }

// Close lets everything go and ends the governor. Of one that was lost nothing is held.
func (e *Emulation) Close() error {
	e.closing.Store(true)
	select {
	case <-e.lost:
		_ = e.s.Close() // says how it ended
		return nil
	default:
	}
	err := e.Release()
	return errors.Join(err, e.s.Close())
}

func (e *Emulation) call(r request, out any) error {
	if err := e.s.Call(r, out); err != nil {
		return fmt.Errorf("emulated policy: %w", err)
	}
	return nil
}

// use is a thread's time since it began.
type use struct {
	ran    time.Duration // on a CPU
	waited time.Duration // ready to run, but others had the CPU
}

// target is the processes that are slowed down.
type target interface {
	// used is the time of each thread so far, by a key that is not used again soon.
	used() map[int]use
	// set keeps threads on their CPUs for a share of the time, 1: all of it. So many run at once, on average over the
	// time in which any did; at least 1.
	set(speed, threads float64)
	// kept is how long threads that had work have been kept from their CPUs so far.
	kept() time.Duration
	// release undoes all. It may be called again, and set after it.
	release()
}
