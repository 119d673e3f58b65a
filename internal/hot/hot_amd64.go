package hot

import "golang.org/x/sys/cpu"

var (
	hasAVX = cpu.X86.HasAVX
	hasFMA = cpu.X86.HasFMA && cpu.X86.HasAVX
)

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

// scan is Scan for n bytes from p, in parts. Stores of 16 bytes would be 5 to 50 % slower than C's
// memset, those of 32 bytes are not.
func scan(p *uint64, n, part uint64, stop *Word, parts *uint64) {
	if hasAVX {
		scanAVX(p, n, part, stop, parts)
		return
	}
	scanSSE(p, n, part, stop, parts)
}

//go:noescape
func scanAVX(p *uint64, n, part uint64, stop *Word, parts *uint64)

//go:noescape
func scanSSE(p *uint64, n, part uint64, stop *Word, parts *uint64)
