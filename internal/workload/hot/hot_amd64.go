package hot

import "golang.org/x/sys/cpu"

var hasFMA = cpu.X86.HasFMA && cpu.X86.HasAVX

// mulAdd is fma for processors, or hypervisors, without FMA.
//
//go:noescape
func mulAdd(n uint64) float64

// FMA executes n blocks (at least 1) of 48 independent multiply-adds and returns
// 4 n: it fills the floating-point ports, with FMA instructions on 256-bit
// vectors where the processor has them.
func FMA(n uint64) float64 {
	if hasFMA {
		return fma(n)
	}
	return mulAdd(n)
}

// lse is for arm64.
const lse = 0
