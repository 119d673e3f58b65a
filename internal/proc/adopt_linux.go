package proc

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Adoption is a time in which this process is the parent of what its descendants leave
// behind, in place of init: so no daemon of theirs is lost from sight, whatever it does to
// its session and its environment.
type Adoption struct {
	before  map[int]bool // children that were there
	session int          // ours
	of      atomic.Pointer[program]
	known   sync.Map // numbers of orphans that were found by the mark, which none has any more when it has ended
	quit    chan struct{}
	done    sync.WaitGroup
}

var adopting struct {
	sync.Mutex
	n int
}

// Adopt begins it. End must be called.
func Adopt() *Adoption {
	a := &Adoption{before: map[int]bool{}, quit: make(chan struct{})}
	for _, c := range Children() {
		a.before[c.PID] = true
	}
	a.session, _ = unix.Getsid(0) // fails for no process of ours
	adopting.Lock()
	if adopting.n++; adopting.n == 1 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // Linux 3.4
	}
	adopting.Unlock()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	a.done.Go(func() {
		defer signal.Stop(ended)
		for {
			a.reap() // what a program waits for by kill(pid, 0) must not stay a zombie
			select {
			case <-ended:
			case <-a.quit:
				return
			}
		}
	})
	return a
}

// program is whose leftovers are adopted: its process group, and a variable of its
// environment.
type program struct {
	group int
	mark  string
}

// Of says which program that is.
func (a *Adoption) Of(group int, mark string) { a.of.Store(&program{group, mark}) }

// End ends it. What was adopted stays a child.
func (a *Adoption) End() {
	close(a.quit)
	a.done.Wait()
	// A process shows as ended as soon as its first thread has, and is reaped after the last.
	for end := time.Now().Add(time.Second); a.reap() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	adopting.Lock()
	defer adopting.Unlock()
	if adopting.n--; adopting.n == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// Adopted lists the orphans, without what they have started themselves. It reads no more
// than the children of this process, however many the host has.
func (a *Adoption) Adopted() (list []Stat) {
	for _, c := range Children() {
		if a.orphan(c) && !c.Ended() {
			list = append(list, c)
		}
	}
	return list
}

// orphan tells them from children that we have started otherwise meanwhile: those are in
// our session, and without the mark.
func (a *Adoption) orphan(c Stat) bool {
	of := a.of.Load()
	if of == nil || a.before[c.PID] || c.PID == of.group {
		return false
	}
	if c.Group == of.group || c.Session != a.session {
		return true
	}
	if _, known := a.known.Load(c.PID); !known && marked(c.PID, of.mark) {
		a.known.Store(c.PID, true)
	}
	_, known := a.known.Load(c.PID)
	return known
}

func marked(pid int, mark string) bool {
	h, err := Hold(pid)
	if err != nil {
		return false
	}
	defer h.Close()
	return slices.Contains(h.Environ(), mark)
}

// reap reports whether one that has ended is there still.
func (a *Adoption) reap() (more bool) {
	for _, c := range Children() {
		if c.Ended() && a.orphan(c) {
			pid, err := unix.Wait4(c.PID, nil, unix.WNOHANG, nil)
			more = more || pid == 0 && err == nil
			if pid == c.PID {
				a.known.Delete(pid)
			}
		}
	}
	return more
}
