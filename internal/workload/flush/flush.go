// Package flush writes cache lines back to memory, as a program does that stores
// to persistent memory through a mapping: no system call makes such stores durable.
//
// The instructions are in assembly, since the compiler has none for them: CLWB,
// CLFLUSHOPT or CLFLUSH on amd64, whichever comes first that the processor has
// (Intel SDM vol. 2; only CLFLUSH is in every amd64 processor), and DC CVAP on arm64
// (ARMv8.2, DPB). Each ends with the fence that its manual asks for.
package flush

import (
	"errors"
	"unsafe"
)

// ErrNone means that this processor has no instruction for it.
var ErrNone = errors.New("this processor has no instruction that writes cache lines back to persistent memory")

// Check returns ErrNone where Range cannot be used.
func Check() error {
	if method == "" {
		return ErrNone
	}
	return nil
}

// Range writes all cache lines of b back to memory and waits until they are there.
// Check must have returned nil.
func Range(b []byte) {
	if len(b) > 0 {
		writeBack(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	}
}
