package hot

import "golang.org/x/sys/cpu"

// lse is 1 where the processor has the atomic instructions of ARMv8.1.
var lse = func() uint64 {
	if cpu.ARM64.HasATOMICS {
		return 1
	}
	return 0
}()

// FMA executes n blocks (at least 1) of 48 independent multiply-adds and returns
// 4 n: it fills the floating-point ports. Every arm64 core has FMADD.
func FMA(n uint64) float64 { return fma(n) }

// scan is Scan for n bytes from p.
//
//go:noescape
func scan(p *uint64, n, part uint64, stop *Word, parts *uint64)

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
