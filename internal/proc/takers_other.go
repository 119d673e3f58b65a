//go:build !linux

package proc

// kthreadd: no process is the parent of the kernel's threads here.
const kthreadd = -1

// GroupsOf: there are none.
func GroupsOf(int) []string { return nil }
