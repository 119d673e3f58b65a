//go:build unix

package database

import (
	"os"
	"syscall"
)

// device is the number of the device, or of the file system, that a directory is on.
func device(dir string) (uint64, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true //nolint:unconvert // a smaller type on some systems
}
