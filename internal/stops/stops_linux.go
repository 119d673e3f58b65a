package stops

import (
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Watch looks at clocks as long as a session lasts.
type Watch struct{ ask chan chan Pause }

// Start starts one. Its thread is its own, so that what the kernel counts as the
// thread's wait for a CPU is that of the watch.
func Start() *Watch {
	w := &Watch{ask: make(chan chan Pause)}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		defer signal.Stop(continued)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		var sum Pause
		last := lookAtClocks()
		for {
			var answer chan Pause
			var open bool
			select {
			case <-ticker.C:
			case answer, open = <-w.ask:
				if !open {
					return
				}
			}
			now := lookAtClocks()
			p := gap(last, now, tick, arrives(continued, now.monotonic-last.monotonic >= 2*tick))
			sum.Stopped, sum.Suspended, last = sum.Stopped+p.Stopped, sum.Suspended+p.Suspended, now
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
		wait = tick / 2
	}
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// Sum is how long hostlab did not run since the watch began.
func (w *Watch) Sum() Pause {
	if w == nil {
		return Pause{}
	}
	answer := make(chan Pause, 1)
	w.ask <- answer
	return <-answer
}

// Close ends the watch.
func (w *Watch) Close() {
	if w != nil {
		close(w.ask)
	}
}

func lookAtClocks() moment {
	return moment{monotonic: clock(unix.CLOCK_MONOTONIC), boot: clock(unix.CLOCK_BOOTTIME),
		cpu: clock(unix.CLOCK_PROCESS_CPUTIME_ID), waited: waited()}
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
