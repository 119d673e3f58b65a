package runner

import (
	"hostlab/internal/proc"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// stopWatch looks at clocks as long as a session lasts.
type stopWatch struct{ ask chan chan pause }

// watchStops starts one. Its thread is its own, so that what the kernel counts as the
// thread's wait for a CPU is that of the watch.
func watchStops() *stopWatch {
	w := &stopWatch{ask: make(chan chan pause)}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		defer signal.Stop(continued)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		tick := time.NewTicker(stopTick)
		defer tick.Stop()
		var sum pause
		last := lookAtClocks()
		for {
			var answer chan pause
			var open bool
			select {
			case <-tick.C:
			case answer, open = <-w.ask:
				if !open {
					return
				}
			}
			now := lookAtClocks()
			p := gap(last, now, stopTick, arrives(continued, now.monotonic-last.monotonic >= 2*stopTick))
			sum.stopped, sum.suspended, last = sum.stopped+p.stopped, sum.suspended+p.suspended, now
			if answer != nil {
				answer <- sum
			}
		}
	}()
	return w
}

// arrives reports whether a signal has come since the last look. Where the look is late, the
// signal may be on its way through the runtime.
func arrives(c <-chan os.Signal, late bool) bool {
	wait := time.Duration(0)
	if late {
		wait = stopTick / 2
	}
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// sum is how long hostlab did not run since the watch began.
func (w *stopWatch) sum() pause {
	if w == nil {
		return pause{}
	}
	answer := make(chan pause, 1)
	w.ask <- answer
	return <-answer
}

func (w *stopWatch) close() {
	if w != nil {
		close(w.ask)
	}
}

func lookAtClocks() moment {
	return moment{monotonic: clock(unix.CLOCK_MONOTONIC), boot: clock(unix.CLOCK_BOOTTIME), cpu: clock(unix.CLOCK_PROCESS_CPUTIME_ID), waited: waited()}
}

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// waited is how long this thread was ready to run and had no CPU; 0 where the kernel does
// not count.
func waited() time.Duration {
	_, waited, _ := proc.Schedstat("thread-self")
	return waited
}
