package emulate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// usable says why a method cannot be had on this host.
func usable(m Method) error {
	if _, ok := useOf("/proc/self/schedstat"); !ok {
		return errors.New("this kernel does not say how long threads ran (no /proc/PID/schedstat), which a policy has to know")
	}
	if m == Group {
		_, err := findGroups()
		return err
	}
	return nil
}

func newTarget(m Method, root int) (target, error) {
	hurry()
	switch m {
	case Stop:
		return newStopper(root), nil
	case Group:
		return newGroup(root)
	}
	return nil, fmt.Errorf("no method %q", m)
}

// hurry gives this process, the governor's, the highest priority that it may have: a
// look that comes late is a check of the policy that comes late. It uses little.
func hurry() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks { // later threads inherit it
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20) // takes CAP_SYS_NICE
		}
	}
}

// cycle is that of stopping and continuing: duties of 0.485 to 0.496 were reached for
// 0.5 with 2 ms, with gaps of 1 ms.
const cycle = 2 * time.Millisecond

// stopper stops and continues processes.
type stopper struct {
	family
	speed atomic.Uint64 // math.Float64bits
	quit  chan struct{}
	done  sync.WaitGroup

	mu      sync.Mutex // of what follows
	present []int
	threads int                   // of them that run
	clocks  map[int]time.Duration // CPU time of each process when it was looked at last
	stopped bool
}

func newStopper(root int) *stopper {
	s := &stopper{family: family{root: root}}
	s.speed.Store(math.Float64bits(1))
	return s
}

func (s *stopper) set(speed float64, threads load) error {
	s.mu.Lock()
	s.present, s.threads = s.pids, threads.running
	s.mu.Unlock()
	s.speed.Store(math.Float64bits(speed))
	if speed < 1 && s.quit == nil {
		s.quit = make(chan struct{})
		s.done.Add(1)
		go s.loop(s.quit)
	}
	return nil
}

// loop keeps the duty: a stop makes up for the CPU time that the processes have had
// since the last one, so that what others take from them is not taken twice. What a
// late wake-up made a stop too long is made good by the next ones.
func (s *stopper) loop(quit chan struct{}) {
	defer s.done.Done()
	runtime.LockOSThread() // nanosleep(2) below blocks a thread
	defer s.signal(unix.SIGCONT)
	debt, last := time.Duration(0), time.Now()
	for {
		select {
		case <-quit:
			return
		default:
		}
		speed := math.Float64frombits(s.speed.Load())
		nap(time.Duration(speed * float64(cycle)))
		now := time.Now()
		ran := min(now.Sub(last), s.ran())
		last = now
		debt += time.Duration(float64(ran) * (1 - speed) / speed)
		if speed >= 1 {
			debt = 0
			continue
		}
		if debt <= 0 {
			continue
		}
		s.signal(unix.SIGSTOP)
		nap(min(debt, cycle))
		s.signal(unix.SIGCONT)
		now = time.Now()
		debt -= now.Sub(last)
		debt = max(debt, -4*cycle)
		last = now
	}
}

// ran is the CPU time of a running thread since the last call, on average.
func (s *stopper) ran() (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[int]time.Duration, len(s.present))
	for _, pid := range s.present {
		var ts unix.Timespec
		// The clock of another process: CPUCLOCK_SCHED (2) with the inverted number above
		// (include/linux/posix-timers.h).
		if unix.ClockGettime(int32(^pid<<3|2), &ts) != nil {
			continue // it has ended
		}
		now[pid] = time.Duration(ts.Nano())
		if before, known := s.clocks[pid]; known {
			sum += now[pid] - before
		}
	}
	s.clocks = now
	return sum / time.Duration(max(1, s.threads))
}

// nap sleeps by nanosleep(2), which wakes some 50 us late where the runtime's timers
// may be a millisecond.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

// signal sends a signal to all. Those that have ended meanwhile are none of ours.
func (s *stopper) signal(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range s.present {
		if pid != os.Getpid() {
			_ = unix.Kill(pid, sig)
		}
	}
	s.stopped = sig == unix.SIGSTOP
}

func (s *stopper) release() error {
	if s.quit != nil {
		close(s.quit)
		s.done.Wait()
		s.quit = nil
	}
	s.speed.Store(math.Float64bits(1))
	return nil
}
