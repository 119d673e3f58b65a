package runner

import (
	"fmt"
	"time"
)

// A process that is stopped measures nothing: the clock of a run goes on, and its
// workload stands still, or works without being watched. A second is beyond what a
// scheduler makes a thread wait that has time left to run.
const (
	stopTick  = 250 * time.Millisecond // how often the watch looks
	stopLeast = time.Second            // of what is no coincidence
)

// pause is how long hostlab did not run in a stretch of time, and why it may be.
type pause struct {
	stopped   time.Duration // by a signal, a debugger or the freezer of a cgroup
	suspended time.Duration // with the whole machine
}

func (p pause) sub(o pause) pause { return pause{p.stopped - o.stopped, p.suspended - o.suspended} }

// text says why a run cannot count; "" where it can.
func (p pause) text() string {
	switch {
	case p.suspended >= stopLeast:
		return fmt.Sprintf("the machine was suspended for %s during the run", p.suspended.Round(time.Second/10))
	case p.stopped >= stopLeast:
		return fmt.Sprintf("hostlab was stopped for %s during the run (SIGSTOP, Ctrl-Z, a debugger, or a frozen cgroup)", p.stopped.Round(time.Second/10))
	}
	return ""
}

// moment is what the clocks show at one look.
type moment struct {
	monotonic time.Duration // goes on while a process is stopped, not while the machine is suspended
	boot      time.Duration // goes on in both
	cpu       time.Duration // of the whole process
	waited    time.Duration // of the watching thread, for a CPU
}

// gap judges the time between two looks that were to be planned apart. A thread that
// wakes late and was not stopped was kept from a CPU: by others, which the kernel counts
// as its wait, or by threads of its own process, which used CPU time.
func gap(a, b moment, planned time.Duration) (p pause) {
	took := b.monotonic - a.monotonic
	p.suspended = max(0, b.boot-a.boot-took)
	late := took - planned
	if late >= stopLeast && 2*(b.waited-a.waited) < late && 2*(b.cpu-a.cpu) < late {
		p.stopped = late
	}
	return p
}
