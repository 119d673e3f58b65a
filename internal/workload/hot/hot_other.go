//go:build !amd64 && !arm64

package hot

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Go versions of the loops, so that the program compiles, vets and tests on
// other architectures. hostlab is not released for them: the compiler may do
// with these what assembly rules out.

// sink keeps the results of loops alive.
var sink atomic.Uint64

func up64(n uint64) uint64 { return max((n+63)/64*64, 64) }

func Adds(n uint64) uint64 {
	var a uint64
	for a < up64(n) {
		a++
	}
	return a
}

func ALU(n uint64) uint64 {
	a, b, c := uint64(0), uint64(1), uint64(3)
	for range 7 * n {
		a++
		b += 2
		c *= 5
	}
	sink.Store(b ^ c)
	return a
}

func FMA(n uint64) float64 {
	var a float64
	for range 4 * n {
		a++
	}
	return a
}

func Pause(n uint64) { sink.Store(Adds(n)) }

func Chase(ring *uint64, at, n uint64) uint64 { return Mixed(ring, at, n) }

func Mixed(ring *uint64, at, n uint64) uint64 {
	for range n {
		at = *word(ring, at)
	}
	return at
}

func Fill(p *uint64, n uint64, v uint64) {
	for i := range n / 8 {
		*word(p, i) = v
	}
}

func scan(p *uint64, n, part uint64, stop *Word, parts *uint64) {
	for at := uint64(0); atomic.LoadUint32(&stop.V) == 0; {
		m := min(part, n-at)
		Fill(word(p, at/8), m, 0)
		if at += m; at >= n {
			at = 0
		}
		atomic.AddUint64(parts, 1)
	}
}

func PingPong(line *Line, first, n uint64, stop *Word) uint64 {
	var done uint64
	for done < n && atomic.LoadUint32(&stop.V) == 0 {
		if atomic.LoadUint64(&line.V) == first+2*done {
			atomic.StoreUint64(&line.V, first+2*done+1)
			done++
		}
	}
	return done
}

var start = time.Now()

func Ticks() uint64 { return uint64(time.Since(start)) }

// word returns &p[i].
func word(p *uint64, i uint64) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(p), i*8))
}
