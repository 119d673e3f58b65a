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

import "unsafe"

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
// tells the bytes. Like Fill it stores to the caches.
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
