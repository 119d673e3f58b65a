package proc

import (
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Pauses looks at clocks as long as a session lasts.
type Pauses struct{ ask chan chan Pause }

// WatchPauses starts one. Its thread is its own, so that what the kernel counts as the
// thread's wait for a CPU is that of the watch.
func WatchPauses() *Pauses {
	w := &Pauses{ask: make(chan chan Pause)}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		defer signal.Stop(continued)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ticker := time.NewTicker(pauseTick)
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
			p := gap(last, now, pauseTick, arrives(continued, now.monotonic-last.monotonic >= 2*pauseTick))
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
		wait = pauseTick / 2
	}
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// Sum is how long hostlab did not run since the watch began.
func (w *Pauses) Sum() Pause {
	if w == nil {
		return Pause{}
	}
	answer := make(chan Pause, 1)
	w.ask <- answer
	return <-answer
}

// Close ends the watch.
func (w *Pauses) Close() {
	if w != nil {
		close(w.ask)
	}
}

// lookAtClocks reads each clock; one that the kernel does not keep stays 0.
func lookAtClocks() (m moment) {
	m.monotonic, _ = clock(unix.CLOCK_MONOTONIC)
	m.boot, _ = clock(unix.CLOCK_BOOTTIME)
	m.cpu, _ = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	_, m.waited, _ = Schedstat("thread-self")
	return m
}
