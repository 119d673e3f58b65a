package scanlock

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"hostlab/internal/hot"
)

// Of the kernel's include/uapi/linux/futex.h.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

// mutex is the third mutex of Drepper's "Futexes Are Tricky", which the C library's is
// too. The system calls are raw: the process has a P for every thread, so that the Go
// scheduler need not know that this one sleeps.
func mutex(t *hot.Taker) (func(), error) {
	state := (*uint32)(unsafe.Pointer(&t.Lock.State))
	return func() {
		at := hot.Try
		for at != hot.Stopped {
			switch at = t.Mutex(at); at {
			case hot.Contended:
				for atomic.SwapUint32(state, 2) != 0 {
					// Errors mean that the word has changed, or a signal: it tries again anyway.
					_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(state)), futexWaitPrivate, 2, 0, 0, 0)
				}
				at = hot.Held
			case hot.Wake:
				_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(state)), futexWakePrivate, 1, 0, 0, 0)
				at = hot.Released
			}
		}
	}, nil
}
