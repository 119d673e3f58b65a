//go:build unix

package main

import (
	"io/fs"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// superuser is who may change everything.
const superuser = "root"

// accessDir reports whether this process may create files in dir.
func accessDir(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

// umask returns the permissions that new files do not get. It can only be read by
// setting it.
func umask() fs.FileMode {
	old := unix.Umask(0o077)
	unix.Umask(old)
	return fs.FileMode(old)
}

// ignoreSuspend lets Ctrl-Z do nothing.
func ignoreSuspend() { signal.Ignore(syscall.SIGTSTP) }
