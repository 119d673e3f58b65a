package emulate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// watch lets go what the governor holds if that is killed: processes that it had stopped
// at that moment would stay so, and a run would wait for them until its timeout.
func (e *Emulation) watch() {
	pid := e.s.PID()
	go func() {
		for {
			// The session itself reaps the governor, so this only looks.
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if !e.closing.Load() {
			rescue(os.Getpid())
			close(e.lost)
		}
	}()
}

// Sweep lets go what governors that were killed together with their parent still hold:
// it moves processes out of their groups, and removes these.
func Sweep() {
	if at, err := findGroups(); err == nil {
		at.sweep()
	}
}

// rescue continues all descendants of a process, and removes the groups of governors
// that have ended.
func rescue(root int) {
	Sweep()
	f := family{root: root}
	f.look()
	for _, pid := range f.pids {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
}

// ended reports whether a process only waits to be reaped.
func ended(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	shut := bytes.LastIndexByte(b, ')')
	return err == nil && shut >= 0 && bytes.HasPrefix(b[shut+1:], []byte(" Z"))
}
