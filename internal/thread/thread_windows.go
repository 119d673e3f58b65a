package thread

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var setThreadGroupAffinity = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetThreadGroupAffinity")

// groupAffinity is GROUP_AFFINITY of winnt.h.
type groupAffinity struct {
	mask     uintptr
	group    uint16
	reserved [3]uint16
}

// confine locks the goroutine to its thread, and the thread to some CPUs of one processor
// group; nil: all that the process may use. CPUs count through groups of 64, as package host
// numbers them. A thread has the CPUs of one group, before Windows 11 always, so that more
// than 64 need a thread for each group.
func confine(cpus []int) error {
	runtime.LockOSThread()
	if cpus == nil {
		return nil
	}
	if err := setThreadGroupAffinity.Find(); err != nil {
		return fmt.Errorf("CPU %d: %w", cpus[0], err)
	}
	if cpus[0] < 0 {
		return fmt.Errorf("CPU %d: %w", cpus[0], ErrNoCPU)
	}
	want := groupAffinity{group: uint16(cpus[0] / 64)}
	for _, cpu := range cpus {
		if cpu < 0 || uint16(cpu/64) != want.group {
			return fmt.Errorf(
				"CPUs %d and %d: they are of two processor groups, and a thread has those of one: list CPUs of one group",
				cpus[0], cpu)
		}
		want.mask |= 1 << (cpu % 64)
	}
	ok, _, err := setThreadGroupAffinity.Call(uintptr(windows.CurrentThread()), uintptr(unsafe.Pointer(&want)), 0)
	if ok == 0 {
		return fmt.Errorf("CPU %d: %w (SetThreadGroupAffinity: %w)", cpus[0], ErrNoCPU, err)
	}
	return nil
}

// Read returns nothing on Windows: GetThreadTimes counts in clock interrupts of
// 15.6 ms, too coarse for slices of 10 ms.
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

// Sleep blocks the thread itself. It wakes with the clock interrupt, up to 15.6 ms
// late, so that its lateness says nothing about the processor.
func Sleep(d time.Duration) (late time.Duration, ok bool) {
	windows.SleepEx(uint32(d.Milliseconds()), false)
	return 0, false
}

// ProcessCPU is the CPU time of the whole process, in steps of 15.6 ms.
func ProcessCPU() (time.Duration, bool) {
	var begin, end, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &begin, &end, &kernel, &user) != nil {
		return 0, false
	}
	// a length, in 100 ns
	since := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 + int64(f.LowDateTime) }
	return time.Duration(100 * (since(kernel) + since(user))), true
}

// Allowed lists the CPUs that the process has, from 0.
func Allowed() ([]int, error) {
	var out []int
	for cpu := range runtime.NumCPU() {
		out = append(out, cpu)
	}
	return out, nil
}

// Keep fails: processes of others are kept to CPUs on Linux only.
func Keep(int, []int) error { return errors.ErrUnsupported }

// Lazily does nothing: Windows has timers of no such kind.
func Lazily(time.Duration) (undo func()) { return func() {} }
