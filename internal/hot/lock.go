package hot

import (
	"math/bits"
	"unsafe"
)

// Kind is how a lock is taken.
type Kind uint8

// The kinds. A TAS lock is swapped at every try; TTAS looks first. Ticket and MCS
// serve in the order of arrival, and need a CPU for every thread: the next in the queue
// holds up all others while it does not run.
const (
	TAS Kind = iota
	TTAS
	Ticket
	MCS
	kinds
)

// Lock is a lock with, lines away, a counter that it protects.
type Lock struct {
	// State is 0 when nobody has the lock, and then: 1 for TAS and TTAS; the next number
	// and, above it, the one being served for Ticket (free when both are the same); the
	// address of the last Node in the queue for MCS; for Taker.Mutex 1, or 2 when another
	// sleeps until it is free.
	State   uint64
	_       [LineSize - 8]byte
	Guarded uint64 // one for each acquisition with Taker.Touch
	_       [LineSize - 8]byte
}

// Counts is what one lock thread counts. It alone writes; others may read with
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

// Lanes returns n counters, next to each other when packed, so that eight threads
// share LineSize bytes, or else alone in their lines.
func Lanes(n int, packed bool) []*Counts {
	step := LineSize
	if packed {
		step = int(unsafe.Sizeof(Counts{}))
	}
	buf := Buffer(n * step)
	clear(buf)
	out := make([]*Counts, n)
	for i := range out {
		out[i] = (*Counts)(unsafe.Pointer(&buf[i*step/8]))
	}
	return out
}

// Node is a thread's place in the queue of an MCS lock.
type Node struct {
	next uint64 // address of the next one's
	wait uint32
	_    [LineSize - 12]byte
}

// Waits counts how many acquisitions took how many Ticks, in classes of a sixteenth
// of a power of two.
type Waits [61 * 16]uint64

// Ticks is the middle of a class.
func (*Waits) Ticks(class int) float64 {
	const fine = 16
	if class < 2*fine {
		return float64(class)
	}
	shift := class/fine - 1
	return (float64(class-shift*fine) + 0.5) * float64(uint64(1)<<shift)
}

// Add counts one acquisition.
func (w *Waits) Add(ticks uint64) {
	shift := bits.Len64(ticks|16) - 5
	w[min(shift*16+int(ticks>>shift), len(w)-1)]++
}

// Taker is a thread that takes a lock over and over.
type Taker struct {
	Lock     *Lock
	Stop     *Word // it ends when this is not 0 and it does not hold the lock
	Counts   *Counts
	Node     *Node  // for MCS, of this thread alone
	Critical uint64 // dependent additions while it holds the lock
	Parallel uint64 // dependent additions between a release and the next try
	Touch    bool   // add one to Lock.Guarded while it holds the lock
	NoPause  bool   // wait without Pause's instruction
	Waits    *Waits // if not nil, from the first try to the acquisition; reading the counter costs more than a lock

	began uint64 //nolint:unused // Ticks of the first try; the assembly uses it
	lse   uint64 // 1: ARMv8.1's atomic instructions are there
}

// Run takes and releases the lock until *t.Stop is not 0.
func (t *Taker) Run(k Kind) {
	if k == MCS && t.Node == nil {
		t.Node = New[Node]()
	}
	t.run(k)
}

// Point is where Taker.Mutex begins and why it ends.
type Point int

// The points. Mutex is called with Try at first, with Held after the caller has got
// the lock, and with Released after it has woken a sleeper.
const (
	Try       Point = iota
	Held            // the lock is taken; not to be returned
	Released        // the lock was given back
	Stopped         // *t.Stop is not 0; the lock is not held
	Contended       // another has the lock: to be slept for
	Wake            // the lock was given back, and another sleeps until then
)
