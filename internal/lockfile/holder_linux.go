package lockfile

import (
	"os"
	"path/filepath"
	"strconv"
)

// Opened reports whether a process has a file open. The number in a lock's file may be an earlier
// holder's, which the system has given to another process since.
func Opened(pid int, file string) bool {
	want, err := os.Stat(file)
	if err != nil {
		return false
	}
	open, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil {
		return false
	}
	for _, fd := range open {
		if is, err := os.Stat(fd); err == nil && os.SameFile(is, want) {
			return true
		}
	}
	return false
}
