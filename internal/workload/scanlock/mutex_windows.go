package scanlock

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"

	"hostlab/internal/hot"
)

var (
	kernel32   = windows.NewLazySystemDLL("kernel32.dll")
	trySRW     = kernel32.NewProc("TryAcquireSRWLockExclusive")
	acquireSRW = kernel32.NewProc("AcquireSRWLockExclusive")
	releaseSRW = kernel32.NewProc("ReleaseSRWLockExclusive")
)

// mutex is an SRW lock, all zero at first. Calling it from Go takes some tens of
// nanoseconds more than from C, so that rates compare with each other only.
func mutex(t *hot.Taker) (func(), error) {
	for _, p := range []*windows.LazyProc{trySRW, acquireSRW, releaseSRW} {
		if err := p.Find(); err != nil {
			return nil, err
		}
	}
	lock := uintptr(unsafe.Pointer(&t.Lock.State))
	return func() {
		for atomic.LoadUint32(&t.Stop.V) == 0 {
			var began uint64
			if t.Waits != nil {
				began = hot.Ticks()
			}
			if ok, _, _ := trySRW.Call(lock); ok&0xff == 0 { // BOOLEAN, a byte
				atomic.AddUint64(&t.Counts.Spins, 1)
				_, _, _ = acquireSRW.Call(lock)
			}
			if t.Waits != nil {
				t.Waits.Add(hot.Ticks() - began)
			}
			if t.Touch {
				t.Lock.Guarded++
			}
			if t.Critical > 0 {
				hot.Adds(t.Critical)
			}
			atomic.AddUint64(&t.Counts.Locked, 1)
			_, _, _ = releaseSRW.Call(lock)
			if t.Parallel > 0 {
				hot.Adds(t.Parallel)
			}
		}
	}, nil
}
