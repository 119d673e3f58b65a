package demo

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/thread"
)

// meter reads what its thread has used, and takes no memory for it.
type meter struct{ file int }

// newMeter is the calling thread's; known is false where the kernel does not tell.
func newMeter() (m meter, known bool) {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	_, counts := thread.CPUTime()
	return meter{fd}, err == nil && counts
}

// read reads the clock of the thread, which is exact. schedstat is exact for waits alone: its time on a CPU is as old
// as the thread's turn there (update_curr in kernel/sched/fair.c).
func (m meter) read() (u usage) {
	u.cpu, _ = thread.CPUTime()
	var text [64]byte
	n, _ := unix.Pread(m.file, text[:], 0)
	field := 0
	// ns on a CPU, ns ready for one, turns (Documentation/scheduler/sched-stats.rst)
	for _, b := range text[:max(0, n)] {
		switch {
		case b < '0' || b > '9':
			field++
		case field == 1:
			u.queue = 10*u.queue + time.Duration(b-'0')
		}
	}
	return u
}

// pause is a wait for nothing that this host has, as a server's for a client elsewhere: the thread polls, and no
// descriptor.
func pause(d time.Duration) {
	for due := time.Now().Add(d); ; {
		left := unix.NsecToTimespec(int64(max(0, time.Until(due))))
		if _, err := unix.Ppoll(nil, &left, nil); err != unix.EINTR {
			return
		}
	}
}

// sync has a file's data on its device.
func sync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
