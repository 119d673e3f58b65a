package emulate

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Usable says why no clock can be emulated on this host.
func Usable() error {
	if _, _, err := proc.Schedstat("self"); err != nil {
		return errors.New(
			"this kernel does not say how long threads ran (no /proc/PID/schedstat), which a policy has to know")
	}
	return nil
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

// Bounds of what is owed: a stop lasts at most longStop, and
// what a host that stood still has left is forgiven beyond mostOwed.
const (
	longStop = 4 * cycle
	mostOwed = 50 * time.Millisecond
)

// stopper stops and continues processes.
type stopper struct {
	family
	speed atomic.Uint64 // math.Float64bits
	quit  chan struct{}
	done  sync.WaitGroup
	sum   atomic.Int64 // ns that processes with work were stopped

	mu      sync.Mutex // of what follows
	present []*proc.Held
	threads float64               // of them that run at once
	clocks  map[int]time.Duration // CPU time of each process when it was looked at last
}

func newTarget(root int, whole bool) target {
	hurry()
	s := &stopper{family: family{root: root, whole: whole}}
	s.speed.Store(math.Float64bits(1))
	return s
}

func (s *stopper) set(speed, threads float64) {
	s.mu.Lock()
	s.present, s.threads = s.held, threads
	s.mu.Unlock()
	s.speed.Store(math.Float64bits(speed))
	if speed < 1 && s.quit == nil {
		s.quit = make(chan struct{})
		s.done.Add(1)
		go s.loop(s.quit)
	}
}

func (s *stopper) kept() time.Duration { return time.Duration(s.sum.Load()) }

// loop keeps the duty: stops make up for the CPU time that the processes have had, so
// that what others take from them is not taken twice.
func (s *stopper) loop(quit chan struct{}) {
	defer s.done.Done()
	runtime.LockOSThread() // nanosleep(2) below blocks a thread
	defer s.signal(unix.SIGCONT)
	s.mu.Lock()
	s.clocks = nil // what ran before has been at full speed
	s.mu.Unlock()
	s.ran(0)
	last, stopped := time.Now(), time.Duration(0)
	var due ledger
	for {
		select {
		case <-quit:
			return
		default:
		}
		speed := math.Float64frombits(s.speed.Load())
		nap(max(time.Duration(speed*float64(cycle)), cycle/20))
		// From one reading of the clocks to the next, so that what runs while signals are
		// on their way is counted too.
		now := time.Now()
		free := now.Sub(last) - stopped
		s.sum.Add(int64(due.ran(s.ran(free), free, speed)))
		last, stopped = now, 0
		if due.owed <= 0 {
			continue
		}
		s.signal(unix.SIGSTOP)
		began := time.Now()
		nap(min(due.owed, longStop))
		stopped = time.Since(began)
		s.signal(unix.SIGCONT)
		due.stopped(stopped)
	}
}

// ledger is what the processes of a stopper are still to be kept from their CPUs.
type ledger struct {
	owed time.Duration // below 0: stopped too long, as who wakes late does
	open time.Duration // the last stop, until it is known whether it hit anybody
	idle time.Duration // since then
}

// ran books what a running thread had in a time without stops. It returns how much of
// stops before was time in which the processes had work.
func (l *ledger) ran(did, free time.Duration, speed float64) (hit time.Duration) {
	l.idle += free
	switch {
	case l.open == 0:
	case did > free/50: // it ran right on, or had to wait for others on the host
		hit, l.open = l.open, 0
	case l.idle > 8*cycle: // nobody had work: it is owed as before
		l.owed += l.open
		l.open = 0
	}
	l.owed += time.Duration(float64(did) * (1 - speed) / speed)
	l.owed = min(max(l.owed, -mostOwed), mostOwed)
	return hit
}

func (l *ledger) stopped(d time.Duration) {
	l.owed -= d
	if l.open == 0 {
		l.idle = 0
	}
	l.open += d
}

// ran is the CPU time of a running thread since the last call, on average: a time in
// which nothing was stopped. Processes that were not known may have begun before it.
func (s *stopper) ran(free time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum, late time.Duration
	now := make(map[int]time.Duration, len(s.present))
	for _, h := range s.present {
		pid := h.PID
		used, err := proc.CPUTime(pid)
		if err != nil {
			continue // it has ended
		}
		now[pid] = used
		if before, known := s.clocks[pid]; known {
			sum += now[pid] - before
		} else if s.clocks != nil {
			late += now[pid]
		}
	}
	s.clocks = now
	each := func(d time.Duration) time.Duration { return time.Duration(float64(d) / max(1, s.threads)) }
	return min(free, each(sum)) + min(2*sample, each(late))
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
	for _, h := range s.present {
		if h.PID != os.Getpid() {
			_ = h.Signal(sig)
		}
	}
}

func (s *stopper) release() {
	if s.quit != nil {
		close(s.quit)
		s.done.Wait()
		s.quit = nil
	}
	s.speed.Store(math.Float64bits(1))
}

// watch lets go what the governor holds if that is killed: processes that it had stopped
// at that moment would stay so, and a run would wait for them until its timeout.
func (e *Emulation) watch() {
	pid := e.s.PID()
	go func() {
		proc.AwaitEnd(pid) // the session itself reaps it
		if !e.closing.Load() {
			Rescue(e.root)
			close(e.lost)
		}
	}()
}

// Rescue continues a process and all its descendants.
func Rescue(root int) {
	f := family{root: root, whole: true}
	f.look()
	for _, h := range f.held {
		_ = h.Signal(unix.SIGCONT)
		h.Close()
	}
}
