// Package hot holds the innermost loops of the CPU probes and workloads: chains
// of dependent additions, loops that fill the execution ports, pointer chases,
// scans, a lock that is taken over and over, and a ping-pong of one cache line.
//
// They are in assembly on amd64 and arm64 for two reasons. The compiler may not
// reorder, fold or vectorise them, so that one addition stays one cycle; and
// counters that one thread writes and another reads are plain stores, where
// sync/atomic's stores would be a locked XCHG on amd64 and halve a lock's rate.
//
// Nothing here can be preempted: a loop is either bounded by its argument or
// polls a stop word, and a process that runs them needs GOMAXPROCS of at least
// the number of its loops plus two, or the garbage collector and the goroutine
// that would set the stop word never run. Package worker arranges for both.
package hot

import (
	"errors"
	"time"
	"unsafe"
)

// LineSize is the distance in bytes that keeps two counters from sharing a cache
// line: two lines of 64, because Intel's adjacent-line prefetcher fetches pairs.
const LineSize = 128

// Word is a 32-bit word alone in its lines, such as a stop word.
type Word struct {
	V uint32
	_ [LineSize - 4]byte
}

// Line is a 64-bit word alone in its lines, for PingPong.
type Line struct {
	V uint64
	_ [LineSize - 8]byte
}

// New returns a zero T that starts on a multiple of LineSize. T must be one of
// this package's padded types, or an array of them.
func New[T any]() *T {
	var zero T
	buf := make([]byte, int(unsafe.Sizeof(zero))+LineSize)
	off := -int(uintptr(unsafe.Pointer(&buf[0]))) & (LineSize - 1)
	return (*T)(unsafe.Pointer(&buf[off]))
}

// Buffer returns n bytes (rounded up to whole lines) that start on a multiple of
// LineSize, written once so that every page is really there.
func Buffer(n int) []uint64 {
	n = Whole(n) / 8
	buf := make([]uint64, n+LineSize/8)
	off := -int(uintptr(unsafe.Pointer(&buf[0]))) & (LineSize - 1) / 8
	buf = buf[off : off+n : off+n]
	for i := range buf {
		buf[i] = 1
	}
	return buf
}

// Whole is n bytes rounded up to whole lines, one at least.
func Whole(n int) int { return (max(n, LineSize) + LineSize - 1) / LineSize * LineSize }

// scanPart is how many bytes are scanned before the scan looks whether to stop: few
// enough to count them, and enough that looking costs nothing.
const scanPart = 256 << 10

// Scan stores to every line of buf, a Buffer, from its start to its end, over and over
// until *stop is not 0, and adds one to *parts after each part of it, of which Scanned
// tells the bytes. It uses plain stores: never non-temporal ones, to which Go's clear and C's
// memset switch for large blocks and which would leave the caches alone.
func Scan(buf []uint64, stop *Word, parts *uint64) {
	scan(&buf[0], uint64(len(buf)*8), scanPart, stop, parts)
}

// Scanned returns the whole passes and the bytes that Scan has done of a Buffer of n
// bytes, by its parts.
func Scanned(n int, parts uint64) (passes, bytes uint64) {
	size := uint64(Whole(n))
	each := (size + scanPart - 1) / scanPart
	passes = parts / each
	return passes, passes*size + parts%each*scanPart
}

// lineWords is the stride of a chase: one node per 64-byte cache line.
const lineWords = 8

// Ring links the lines of buf into one cycle in random order, so that neither
// the stride nor the next-line prefetcher can guess the way, and returns the
// number of nodes. rnd(n) gives a uniform number in [0, n). Sattolo's algorithm.
func Ring(buf []uint64, rnd func(n int) int) int {
	n := len(buf) / lineWords
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := rnd(i)
		order[i], order[j] = order[j], order[i]
	}
	for i := range n {
		buf[i*lineWords] = uint64(order[i] * lineWords)
	}
	return n
}

// MixedAdds is the number of dependent additions in one step of Mixed.
const MixedAdds = 16

// Clock turns ticks of the time stamp counter into seconds. It compares the two
// over the whole life of the process, since Windows' clock moves in steps of half
// a millisecond and more.
type Clock struct {
	ticks uint64
	at    time.Time
}

// StartClock starts comparing.
func StartClock() Clock { return Clock{Ticks(), time.Now()} }

// Rate returns ticks per second; call it some 100 ms after StartClock at the earliest.
func (c Clock) Rate() float64 {
	return float64(Ticks()-c.ticks) / time.Since(c.at).Seconds()
}

// Flush writes the cache lines of b back to memory and waits until they are there, as a
// program does that stores to persistent memory through a mapping: no system call makes
// such stores durable. CanFlush must have returned nil.
//
// The compiler has no instruction for it: CLWB, CLFLUSHOPT or CLFLUSH on amd64, whichever
// comes first that the processor has (Intel SDM vol. 2; only CLFLUSH is in every amd64
// processor), and DC CVAP on arm64 (ARMv8.2, DPB). Each ends with the fence that its
// manual asks for.
func Flush(b []byte) {
	if len(b) > 0 {
		writeBack(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	}
}

// CanFlush returns an error where the processor has no instruction for Flush.
func CanFlush() error {
	if flushBy == "" {
		return errors.New("this processor has no instruction that writes cache lines back to persistent memory")
	}
	return nil
}

// Counts is what one thread counts. It alone writes; others may read with
// atomic loads while it runs, and must subtract snapshots, never reset.
type Counts struct {
	Locked uint64 // acquisitions
	Spins  uint64 // polls that found the lock held
}

// Lane is Counts alone in its lines.
type Lane struct {
	Counts
	_ [LineSize - 16]byte
}

// Take takes and releases a lock until *stop is not 0: it looks before it swaps, and waits with
// PAUSE, or on arm64 ISB, while another has it. The lock is 0 when nobody has it. Nothing is done
// under it.
func Take(lock, stop *Word, counts *Counts) { take(lock, stop, counts, lse) }

// take is Take; lse is 1 where arm64's atomic instructions of ARMv8.1 are there.
//
//go:noescape
func take(lock, stop *Word, counts *Counts, lse uint64)

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
