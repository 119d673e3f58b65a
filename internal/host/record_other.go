//go:build !linux

package host

import "syscall"

// statxLine repeats what was recorded; there is no statx here.
func statxLine(t Tree, p string) (string, error) {
	b, err := t.Read(statxFile(p))
	return string(b), err
}

func errnoName(syscall.Errno) string { return "EIO" }
