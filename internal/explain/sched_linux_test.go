package explain

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A turn lasts from one sleep of a thread's own accord to the next.
func TestTurns(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // which ends with it, and was nobody's
		id := int64(unix.Gettid())
		watch := Threads{Turns: true}
		turn := func(work func()) float64 {
			watch.Forget()
			for range 3 { // the second finds that it has run, and from there on sleeps count
				work()
				watch.Watch([]int64{id}, nil)
			}
			return watch.Uses()[0].Turn
		}
		compute := func() {
			for began, _, _ := SchedStat(id); ; {
				if now, _, _ := SchedStat(id); now-began > 20*time.Millisecond {
					return
				}
			}
		}
		long := turn(compute)
		short := turn(func() {
			compute()
			for range 1000 {
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 1}, nil)
			}
		})
		if short <= 0 || short > long/10 { // the runtime has it sleep now and then
			t.Errorf("%g s between few sleeps, %g s between a thousand", long, short)
		}
	}()
	<-done
}
