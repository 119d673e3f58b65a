package hot

// Adds executes a chain of n dependent additions, n rounded up to a positive
// multiple of 64, and returns how many. Each takes exactly one cycle on every core that
// hostlab supports, so n over the time is the core's clock, without a counter.
// The addend is in a register: Intel's Golden Cove and later fold additions of a
// small constant away while renaming, several in a cycle.
//
//go:noescape
func Adds(n uint64) uint64

// ALU executes n blocks (at least 1) of 64 independent integer operations, more
// than any core has ports for, and returns 7 n: additions to one of its registers.
//
//go:noescape
func ALU(n uint64) uint64

// fma executes n blocks (at least 1) of 48 independent fused multiply-adds (48
// multiplications and additions where the processor has no FMA) and returns 4 n.
//
//go:noescape
func fma(n uint64) float64

// Chase follows n (at least 1) links of a Ring from index at and returns the
// index where it ends: dependent loads, nothing else.
//
//go:noescape
func Chase(ring *uint64, at, n uint64) uint64

// Mixed is Chase with MixedAdds dependent additions between two loads.
//
//go:noescape
func Mixed(ring *uint64, at, n uint64) uint64

// Fill writes v to n bytes (a positive multiple of 64) with plain stores: never
// non-temporal ones, to which Go's clear and C's memset switch for large blocks
// and which would leave the caches alone.
//
//go:noescape
func Fill(p *uint64, n uint64, v uint64)

// PingPong waits n times until line.V is the number that it expects, first the
// argument, and writes the next one; two threads, the second with first = 1, so
// throw a cache line to and fro. It returns how many times it wrote; fewer than
// n if *stop became other than 0.
//
//go:noescape
func PingPong(line *Line, first, n uint64, stop *Word) uint64

// Ticks reads the time stamp counter, after all earlier instructions.
//
//go:noescape
func Ticks() uint64
