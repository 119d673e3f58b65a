package dialog

import (
	"time"

	"golang.org/x/sys/unix"
)

// bell lets a thread sleep until a moment or until it is rung. The thread itself
// sleeps in the kernel: a Go timer would be awaited by another thread, on another
// CPU, and the wake-up would not be that of the CPU which idled.
type bell struct{ fd int }

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &bell{fd}, err
}

// settle is called once by the thread that will wait: it sets its timer slack, 50 us
// by default, to the least.
func (b *bell) settle() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// wait returns after d, or when rung; a negative d waits for the ring alone.
func (b *bell) wait(d time.Duration) {
	var limit *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		limit = &ts
	}
	fds := []unix.PollFd{{Fd: int32(b.fd), Events: unix.POLLIN}}
	if n, err := unix.Ppoll(fds, limit, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(b.fd, count[:]) // resets the bell; nothing to read is as good
	}
}

func (b *bell) ring() { _, _ = unix.Write(b.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (b *bell) close() { _ = unix.Close(b.fd) }
