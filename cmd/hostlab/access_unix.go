//go:build unix

package main

import "golang.org/x/sys/unix"

// accessDir reports whether this user may create files in dir.
func accessDir(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
