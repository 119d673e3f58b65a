package proc

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Adoption is a time in which this process is the parent of what its descendants leave
// behind, in place of init: so no daemon of theirs is lost from sight, whatever it does to
// its session and its environment.
type Adoption struct {
	before  map[int]bool // children that were there
	session int          // ours
	group   atomic.Int64
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

// Of says which process group is that of the program whose leftovers are adopted.
func (a *Adoption) Of(group int) { a.group.Store(int64(group)) }

// End ends it. What was adopted stays a child.
func (a *Adoption) End() {
	close(a.quit)
	a.done.Wait()
	a.reap()
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

// orphan tells them from children that we have started otherwise meanwhile: those lead
// groups of their own, or are in ours, in our session.
func (a *Adoption) orphan(c Stat) bool {
	group := int(a.group.Load())
	return group != 0 && !a.before[c.PID] && c.PID != group && (c.Group == group || c.Session != a.session)
}

func (a *Adoption) reap() {
	for _, c := range Children() {
		if a.orphan(c) && c.State == 'Z' {
			_, _ = unix.Wait4(c.PID, nil, unix.WNOHANG, nil)
		}
	}
}
