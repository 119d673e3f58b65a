//go:build !amd64 && !arm64

package hot

import (
	"sync/atomic"
	"unsafe"
)

func (t *Taker) run(k Kind) {
	state := &t.Lock.State
	low, high := (*uint32)(unsafe.Pointer(state)), (*uint32)(unsafe.Add(unsafe.Pointer(state), 4))
	self := uint64(uintptr(unsafe.Pointer(t.Node)))
	for atomic.LoadUint32(&t.Stop.V) == 0 {
		t.began = Ticks()
		switch k {
		case Ticket:
			mine := atomic.AddUint32(low, 1) - 1
			t.until(func() bool { return atomic.LoadUint32(high) == mine })
		case MCS:
			atomic.StoreUint64(&t.Node.next, 0)
			atomic.StoreUint32(&t.Node.wait, 1)
			if last := atomic.SwapUint64(state, self); last != 0 {
				atomic.StoreUint64(&node(last).next, self)
				t.until(func() bool { return atomic.LoadUint32(&t.Node.wait) == 0 })
			}
		default:
			for (k == TTAS && atomic.LoadUint32(low) != 0) || atomic.SwapUint32(low, 1) != 0 {
				atomic.AddUint64(&t.Counts.Spins, 1)
				if atomic.LoadUint32(&t.Stop.V) != 0 {
					return
				}
			}
		}
		t.holding()
		switch k {
		case Ticket:
			atomic.AddUint32(high, 1)
		case MCS:
			if !atomic.CompareAndSwapUint64(state, self, 0) {
				for atomic.LoadUint64(&t.Node.next) == 0 {
				}
				atomic.StoreUint32(&node(atomic.LoadUint64(&t.Node.next)).wait, 0)
			}
		default:
			atomic.StoreUint32(low, 0)
		}
		t.rest()
	}
}

func (t *Taker) until(ok func() bool) {
	for !ok() {
		atomic.AddUint64(&t.Counts.Spins, 1)
	}
}

// holding is what happens between acquisition and release.
func (t *Taker) holding() {
	if t.Waits != nil {
		t.Waits.Add(Ticks() - t.began)
	}
	if t.Touch {
		t.Lock.Guarded++
	}
	if t.Critical > 0 {
		sink.Store(Adds(t.Critical))
	}
	atomic.AddUint64(&t.Counts.Locked, 1)
}

func (t *Taker) rest() {
	if t.Parallel > 0 {
		sink.Store(Adds(t.Parallel))
	}
}

// Mutex takes and releases a mutex, as on the other architectures.
func (t *Taker) Mutex(from Point) Point {
	low := (*uint32)(unsafe.Pointer(&t.Lock.State))
	if from == Released {
		t.rest()
	}
	for {
		if from != Held {
			if atomic.LoadUint32(&t.Stop.V) != 0 {
				return Stopped
			}
			t.began = Ticks()
			if !atomic.CompareAndSwapUint32(low, 0, 1) {
				atomic.AddUint64(&t.Counts.Spins, 1)
				return Contended
			}
		}
		from = Try
		t.holding()
		if atomic.SwapUint32(low, 0) == 2 {
			return Wake
		}
		t.rest()
	}
}

// node is the Node at an address; the caller keeps it alive.
func node(at uint64) *Node { return *(**Node)(unsafe.Pointer(&at)) }
