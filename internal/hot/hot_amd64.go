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

// flushLine is the size of a cache line, which CPUID tells in units of 8 bytes.
var flushBy, flushLine = detectFlush()

// detectFlush reads CPUID: leaf 1 has CLFSH in bit 19 of EDX and the size of a line in bits
// 15 to 8 of EBX, leaf 7 has CLFLUSHOPT in bit 23 of EBX and CLWB in bit 24 (Intel SDM
// vol. 2A, CPUID).
func detectFlush() (string, uintptr) {
	highest, _, _, _ := cpuid(0, 0)
	_, b, _, d := cpuid(1, 0)
	size := uintptr(b>>8&0xff) * 8
	if d>>19&1 == 0 || size == 0 {
		return "", 0
	}
	if highest >= 7 {
		_, b, _, _ = cpuid(7, 0)
		switch {
		case b>>24&1 == 1:
			return "clwb", size
		case b>>23&1 == 1:
			return "clflushopt", size
		}
	}
	return "clflush", size
}

func writeBack(p, n uintptr) { flushLines(flushBy, p&^(flushLine-1), p+n) }

// flushLines flushes the lines from start, which begins one, to end by an instruction that the
// processor has.
func flushLines(method string, start, end uintptr) {
	switch method {
	case "clwb":
		clwb(start, end, flushLine)
	case "clflushopt":
		clflushopt(start, end, flushLine)
	default:
		clflush(start, end, flushLine)
	}
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func clwb(start, end, line uintptr)

//go:noescape
func clflushopt(start, end, line uintptr)

//go:noescape
func clflush(start, end, line uintptr)
