//go:build unix

package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks an open file, alone or shared with other readers. It is false where another
// process has it.
func Try(f *os.File, alone bool) (bool, error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB) //nolint:gosec // a descriptor is small
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}
