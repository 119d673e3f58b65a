package waits

import "golang.org/x/sys/unix"

// Calls that only older architectures have.
func init() {
	for _, n := range []int64{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT} {
		calls[n] = Poll
	}
	calls[unix.SYS_PAUSE] = Sleep
	polls[unix.SYS_POLL] = true
}
