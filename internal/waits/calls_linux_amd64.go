package waits

import "golang.org/x/sys/unix"

// Calls that only older architectures have.
func init() {
	for _, n := range []int64{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT} {
		calls[n] = Poll
	}
	calls[unix.SYS_PAUSE] = Sleep
	for n, name := range map[int64]string{unix.SYS_OPEN: "open", unix.SYS_STAT: "stat", unix.SYS_LSTAT: "lstat",
		unix.SYS_UNLINK: "unlink", unix.SYS_RENAME: "rename", unix.SYS_MKDIR: "mkdir"} {
		paths[n] = name
	}
}
