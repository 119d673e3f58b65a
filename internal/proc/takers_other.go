//go:build !linux

package proc

// kthreadd: no process is the parent of the kernel's threads here.
const kthreadd = -1

func GroupOf(int) string { return "" }
