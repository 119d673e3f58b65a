package hot

import (
	"errors"
	"unsafe"
)

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
