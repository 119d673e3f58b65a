//go:build !linux && !windows

package thread

import (
	"fmt"
	"runtime"
	"time"
)

// Pin fails: hostlab knows no way to pin a thread here.
func Pin(cpu int) error {
	return fmt.Errorf("CPU %d: threads cannot be pinned on %s", cpu, runtime.GOOS)
}

// confine fails unless all CPUs may be used.
func confine(cpus []int) error {
	runtime.LockOSThread()
	if cpus == nil {
		return nil
	}
	return fmt.Errorf("threads cannot be kept to some CPUs on %s", runtime.GOOS)
}

// Read returns nothing.
func Read() Usage { return Usage{} }

// ID names a thread of this process to the system; it cannot be used here.
type ID int

// Self is the calling thread.
func Self() ID { return 0 }

// Read returns nothing.
func (ID) Read() Usage { return Usage{} }

// Pinned reports true, like the function.
func (ID) Pinned(int) bool { return true }

// CPUTime returns nothing, like Read.
func CPUTime() (time.Duration, bool) { return 0, false }

// Pinned reports true: nothing is known to move a pinned thread here.
func Pinned(int) bool { return true }

// Sleep blocks the goroutine; how late it woke is not known.
func Sleep(d time.Duration) (late time.Duration, ok bool) {
	time.Sleep(d)
	return 0, false
}

// ProcessCPU returns nothing.
func ProcessCPU() (time.Duration, bool) { return 0, false }

// Allowed lists the CPUs that the process has, from 0.
func Allowed() ([]int, error) {
	var out []int
	for cpu := range runtime.NumCPU() {
		out = append(out, cpu)
	}
	return out, nil
}

// Name does nothing here.
func Name(string) {}
