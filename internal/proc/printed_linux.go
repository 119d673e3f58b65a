package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// unwritten reports a pipe to which nobody can write any more: its end is certain to be read.
func unwritten(r *os.File) (is bool) {
	conn, err := r.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // it is a descriptor
		n, err := unix.Poll(p, 0)
		is = n == 1 && err == nil && p[0].Revents&unix.POLLHUP != 0
	})
	return is && err == nil
}
