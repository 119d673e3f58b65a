package runner

import (
	"fmt"
	"time"
)

// A process that is stopped measures nothing: the clock of a run goes on, and its
// workload stands still, or works without being watched. What counts is measured by the
// run: the same stop is nothing in an hour and all of a short run.
const (
	stopTick  = 100 * time.Millisecond // how often the watch looks
	stopLeast = time.Second            // is too much for any run, and beyond what a scheduler makes a thread wait
	stopShare = 10                     // so is this part of a run
)

// pause is how long hostlab did not run in a stretch of time, and why it may be.
type pause struct {
	stopped   time.Duration // by a signal, a debugger or the freezer of a cgroup
	suspended time.Duration // with the whole machine
	run       time.Duration // that it is held against
}

func (p pause) sub(o pause) pause {
	return pause{stopped: p.stopped - o.stopped, suspended: p.suspended - o.suspended}
}

// limit is how long a pause the run can bear. Below a tick nothing shows.
func (p pause) limit() time.Duration { return min(max(p.run/stopShare, stopTick), stopLeast) }

// text says why a run cannot count; "" where it can.
func (p pause) text() string {
	switch {
	case p.suspended >= p.limit():
		return fmt.Sprintf("the machine was suspended for %s during the run", p.suspended.Round(time.Second/10))
	case p.stopped >= p.limit():
		return fmt.Sprintf("hostlab was stopped for %s during the run (SIGSTOP, Ctrl-Z, a debugger, or a frozen cgroup)", p.stopped.Round(time.Second/10))
	}
	return ""
}

// moment is what the clocks show at one look.
type moment struct { //nolint:unused // looks are taken on Linux
	monotonic time.Duration // goes on while a process is stopped, not while the machine is suspended
	boot      time.Duration // goes on in both
	cpu       time.Duration // of the whole process
	waited    time.Duration // of the watching thread, for a CPU
}

// gap judges the time between two looks that were to be planned apart. A thread that
// wakes late and was not stopped was kept from a CPU: by others, which the kernel counts
// as its wait, or by threads of its own process, which used CPU time. That account has
// holes, as the runtime wakes one thread through another. So less than a second counts only
// after a SIGCONT, which comes with the end of each stop by a signal.
func gap(a, b moment, planned time.Duration, continued bool) (p pause) { //nolint:unused // looks are taken on Linux
	took := b.monotonic - a.monotonic
	p.suspended = max(0, b.boot-a.boot-took)
	late, least := took-planned, stopLeast
	if continued {
		least = stopTick
	}
	if late >= least && 2*(b.waited-a.waited) < late && 2*(b.cpu-a.cpu) < late {
		p.stopped = late
	}
	return p
}
