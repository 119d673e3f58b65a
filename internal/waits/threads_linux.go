package waits

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Threads looks at threads of one process, each by a read of its system call. It asks neither whether one is stopped or
// frozen, nor whom it waits for.
type Threads struct {
	pid  int
	open map[int]*os.File
	buf  [256]byte
	// File names a descriptor; "": it names none.
	files files
}

// OpenThreads looks at a thread of a process once, and returns the error of a user who may not.
func OpenThreads(pid, tid int) (*Threads, error) {
	t := &Threads{pid: pid, open: map[int]*os.File{}, files: files{}}
	if _, _, err := t.Of(tid); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Of is what a thread does now. at is the call with its arguments and where it was called: it is the same while a wait
// lasts, and mostly another for the next one.
func (t *Threads) Of(tid int) (w Wait, at string, err error) {
	f := t.open[tid]
	if f == nil {
		if f, err = os.Open(fmt.Sprintf("/proc/%d/task/%d/syscall", t.pid, tid)); err != nil {
			return w, "", err
		}
		t.open[tid] = f
	}
	n, err := unix.Pread(int(f.Fd()), t.buf[:], 0)
	if err != nil {
		return w, "", err
	}
	w, number, args := called(t.buf[:n])
	if fd, named := descriptor(number, args); named {
		w = w.on(t.files.of(t.pid, fd), number)
	}
	return w, string(t.buf[:n]), nil
}

// Keep lets go of all threads but those, and of the names of files, which may be others by now.
func (t *Threads) Keep(tids map[int]bool) {
	for tid, f := range t.open {
		if !tids[tid] {
			_ = f.Close()
			delete(t.open, tid)
		}
	}
	clear(t.files)
}

// Close lets go of all.
func (t *Threads) Close() { t.Keep(nil) }
