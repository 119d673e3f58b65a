package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks an open file, alone or shared with other readers. It is false where another
// process has it. What is locked lies far behind the end, since Windows lets nobody read
// or write what another has locked, and the process ID is to be read.
func Try(f *os.File, alone bool) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
