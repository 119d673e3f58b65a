package hot

import "golang.org/x/sys/cpu"

var flushBy = func() string {
	if cpu.ARM64.HasDCPOP {
		return "dc cvap"
	}
	return ""
}()

// writeBack steps by the smallest line of data that any cache has, which CTR_EL0 tells
// (Arm ARM, D24.2.34); Linux lets user space read it.
func writeBack(p, n uintptr) {
	line := uintptr(4) << (ctr() >> 16 & 0xf)
	cvap(p&^(line-1), p+n, line)
}

//go:noescape
func ctr() uint64

//go:noescape
func cvap(start, end, line uintptr)
