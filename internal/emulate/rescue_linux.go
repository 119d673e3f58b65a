package emulate

import (
	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

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

// Rescue continues a process and all its descendants, and removes the groups of governors
// that have ended.
func Rescue(root int) {
	_, _ = Sweep() // what stays is listed by Leftovers
	f := family{root: root, whole: true}
	f.look()
	for _, h := range f.held {
		_ = h.Signal(unix.SIGCONT)
		h.Close()
	}
}
