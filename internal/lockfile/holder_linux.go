package lockfile

import (
	"os"
	"path/filepath"
	"slices"
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
	return err == nil && slices.ContainsFunc(open, func(fd string) bool {
		is, err := os.Stat(fd)
		return err == nil && os.SameFile(is, want)
	})
}
