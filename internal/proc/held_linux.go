package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Held is one process, whatever becomes of its number. Close must be called.
type Held struct {
	Stat
	held *os.Process // by a pidfd, where the kernel has them (Linux 5.4)
}

// Hold holds the process that has a number now. What is asked of it afterwards may be the
// answer of a later one of its number; a signal never reaches that.
func Hold(pid int) (*Held, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	h := &Held{held: p}
	if h.Stat, err = Read(pid); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Close lets it go, and does nothing to it.
func (h *Held) Close() { _ = h.held.Release() }

// Signal sends a signal; to one that has ended it does nothing.
func (h *Held) Signal(sig syscall.Signal) error {
	err := h.held.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Gone reports that its number may be another's.
func (h *Held) Gone() bool { return errors.Is(h.held.Signal(syscall.Signal(0)), os.ErrProcessDone) }

// RunsAs reports whether it is wholly one of these users': a program with the set-user-ID
// bit is not, since who started it is another than who it runs as.
func (h *Held) RunsAs(uids ...int) bool {
	user, ok := h.user()
	return ok && slices.Contains(uids, user)
}

// OneUser reports whether all its user IDs are the same: then what is in its environment
// was put there by that user or by root.
func (h *Held) OneUser() bool {
	_, ok := h.user()
	return ok
}

func (h *Held) user() (uid int, one bool) {
	b, err := os.ReadFile(h.file("status"))
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(b), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	var ids [4]int // real, effective, saved, of the file system
	if _, err := fmt.Sscan(line, &ids[0], &ids[1], &ids[2], &ids[3]); err != nil || !found {
		return 0, false
	}
	return ids[0], ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3]
}

// Inside reports whether a directory is its working directory: the very one, not one of
// its name.
func (h *Held) Inside(dir fs.FileInfo) bool {
	at, err := os.Stat(h.file("cwd"))
	return err == nil && os.SameFile(at, dir)
}

// Environ is what its program was started with, as far as that may be read and the program
// has not written over it.
func (h *Held) Environ() []string {
	list, _ := words(h.file("environ"), mostGiven)
	return list
}

func (h *Held) file(name string) string { return fmt.Sprintf("/proc/%d/%s", h.PID, name) }

// Find holds those of a list for which is holds.
func Find(list []Stat, is func(*Held) bool) (found []*Held) {
	for _, s := range list {
		h, err := Hold(s.PID)
		switch {
		case err != nil:
		case h.Ended() || h.PID == os.Getpid() || !is(h):
			h.Close()
		default:
			found = append(found, h)
		}
	}
	return found
}

// Step is a signal, and how long processes get to end after it.
type Step struct {
	Signal syscall.Signal
	Grace  time.Duration
}

// End signals what find finds until that finds nothing: again and again, since one may
// have started another meanwhile. It returns what is left after the last step.
func End(find func() []*Held, steps ...Step) (left []Stat) {
	for _, step := range steps {
		for end := time.Now().Add(step.Grace); ; time.Sleep(5 * time.Millisecond) {
			left = left[:0]
			for _, h := range find() {
				_ = h.Signal(step.Signal)
				_ = h.Signal(syscall.SIGCONT) // one that is stopped would not see it
				left = append(left, h.Stat)
				h.Close()
			}
			if len(left) == 0 {
				return nil
			}
			if time.Now().After(end) {
				break
			}
		}
	}
	return left
}
