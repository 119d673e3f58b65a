package proc

import (
	"fmt"
	"time"
)

// A process that is stopped measures nothing: the clock of a run goes on, and its
// workload stands still, or works without being watched. What counts is measured by the
// run: the same stop is nothing in an hour and all of a short run.
const (
	pauseTick  = 100 * time.Millisecond // how often the watch looks
	pauseLeast = time.Second            // is too much for any run, and beyond what a scheduler makes a thread wait
	pauseShare = 10                     // so is this part of a run
)

// Pause is how long hostlab did not run in a stretch of time, and why it may be.
type Pause struct {
	Stopped   time.Duration // by a signal, a debugger or the freezer of a cgroup
	Suspended time.Duration // with the whole machine
	Run       time.Duration // that it is held against
}

// Sub is what has come since o.
func (p Pause) Sub(o Pause) Pause {
	return Pause{Stopped: p.Stopped - o.Stopped, Suspended: p.Suspended - o.Suspended}
}

// Limit is how long a pause the run can bear. Below a tick nothing shows.
func (p Pause) Limit() time.Duration { return min(max(p.Run/pauseShare, pauseTick), pauseLeast) }

// Text says why a run cannot count; "" where it can.
func (p Pause) Text() string {
	switch {
	case p.Suspended >= p.Limit():
		return fmt.Sprintf("the machine was suspended for %s during the run", p.Suspended.Round(time.Second/10))
	case p.Stopped >= p.Limit():
		return fmt.Sprintf("hostlab was stopped for %s during the run (SIGSTOP, Ctrl-Z, a debugger, or a frozen cgroup)",
			p.Stopped.Round(time.Second/10))
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
func gap(a, b moment, planned time.Duration, continued bool) (p Pause) { //nolint:unused // looks are taken on Linux
	took := b.monotonic - a.monotonic
	p.Suspended = max(0, b.boot-a.boot-took)
	late, enough := took-planned, pauseLeast
	if continued {
		enough = pauseTick
	}
	if late >= enough && 2*(b.waited-a.waited) < late && 2*(b.cpu-a.cpu) < late {
		p.Stopped = late
	}
	return p
}

// Requests are those of clients that processes serve, and those that they ask of servers, by their connections.
type Requests struct {
	Connections int             // of clients, with those that nobody has taken yet
	Unread      int             // of them, with something that nobody has read yet
	AtWork      Open            // that clients wait for: over TCP, in this network
	Asked       map[string]Open // that a server is to answer, by its address; likewise
}

// Open are connections by which end has sent last, as the kernel keeps it: in ticks of a few ms.
type Open struct {
	Asked int // the one that asks: there is no answer yet
	Long  int // of them, for longer than a tick
	Same  int // both in one tick, so that it is not known which was first
}

// Add adds another look.
func (o Open) Add(more Open) Open {
	return Open{o.Asked + more.Asked, o.Long + more.Long, o.Same + more.Same}
}

// few is the share of connections of which the order is not known that the slow requests have to reach before all of
// those count, too.
const few = 0.03

// Count are the requests that have no answer yet. Who asks at once when an answer came does both in one tick; a server
// that answers within a tick does, too, but then next to none of its answers takes long.
func (o Open) Count() int {
	if float64(o.Long) >= few*float64(o.Same) {
		return o.Asked + o.Same
	}
	return o.Asked
}
