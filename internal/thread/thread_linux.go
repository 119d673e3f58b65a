package thread

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/proc"

	"golang.org/x/sys/unix"
)

// confine locks the goroutine to its thread, and the thread to some CPUs; nil: all that the
// process may use. CPUs that may not be used go unnoticed as long as another may: the kernel
// takes what is left.
func confine(cpus []int) error {
	for _, cpu := range cpus {
		if cpu < 0 {
			return fmt.Errorf("CPU %d: %w", cpu, ErrNoCPU)
		}
	}
	runtime.LockOSThread()
	if cpus == nil {
		return nil
	}
	err := Keep(0, cpus)
	if err == nil {
		return nil
	}
	names := strings.ReplaceAll(strings.Trim(fmt.Sprint(cpus), "[]"), " ", ", ")
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("CPU %s: %w", names, ErrNoCPU)
	}
	return fmt.Errorf("CPU %s: sched_setaffinity: %w", names, err)
}

// Keep lets a process run on some CPUs only; 0 is the calling thread.
func Keep(pid int, cpus []int) error {
	set := unix.NewCPUSet(slices.Max(cpus) + 1) // not CPUSet, which ends at CPU 1023
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinityDynamic(pid, set)
}

// ID names a thread of this process to the system.
type ID int

// Self is the calling thread; the goroutine must be locked to it.
func Self() ID { return ID(unix.Gettid()) }

// Read returns the calling thread's usage; the goroutine must be locked to it.
func Read() Usage { return Self().Read() }

// Read returns the usage of a thread of this process, which may be running.
func (id ID) Read() Usage {
	var u Usage
	var err error
	u.CPU, err = proc.ThreadCPUTime(int(id))
	u.HasCPU = err == nil
	_, u.Waited, err = proc.Schedstat("self/task/" + strconv.Itoa(int(id)))
	u.HasWaited = err == nil
	return u
}

// CPUTime is Usage.CPU alone, at the price of one system call.
func CPUTime() (time.Duration, bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano()), err == nil
}

// Pinned reports whether the calling thread may still run on that CPU only. The
// kernel widens the affinity of threads whose last CPU goes offline.
func Pinned(cpu int) bool { return ID(0).Pinned(cpu) }

// Pinned is Pinned for a thread of this process.
func (id ID) Pinned(cpu int) bool {
	set := unix.NewCPUSet(1 << 13) // the kernel's own limit on x86, CONFIG_NR_CPUS
	if err := unix.SchedGetaffinityDynamic(int(id), set); err != nil {
		return false
	}
	return set.Count() == 1 && set.IsSet(cpu)
}

// Sleep blocks the thread itself and returns how late it woke. time.Sleep would
// park the goroutine and have another thread, on another CPU, wake it. The
// thread's timer slack, 50 us by default, is set to the least (PR_SET_TIMERSLACK
// in prctl(2)), so that what is left is the timer, leaving the idle state and the
// scheduler, and about a microsecond of the Go runtime's.
func Sleep(d time.Duration) (late time.Duration, ok bool) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it wake-ups only look later
	due := time.Now().Add(d)
	for {
		left := unix.NsecToTimespec(int64(max(0, time.Until(due))))
		err := unix.Nanosleep(&left, nil)
		if late = time.Since(due); err != unix.EINTR {
			return late, err == nil
		}
	}
}

// Lazily lets timers of all threads of this process end late by so much, those of threads that they start meanwhile, too,
// and returns what undoes it. Go's monitor wakes some fifty times for each wake-up of ours, first after 20 us and then
// more seldom (sysmon in runtime/proc.go, Go 1.26): so much later, once or twice. Another thread's slack takes root
// (proc_pid_timerslack_ns(5)): without it, all stays as it is.
func Lazily(slack time.Duration) (undo func()) {
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return func() {}
	}
	set := func(ns int64) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, t := range tasks {
			file := "/proc/" + t.Name() + "/timerslack_ns" // each thread has one there, though only processes are listed
			_ = os.WriteFile(file, strconv.AppendInt(nil, ns, 10), 0)
		}
	}
	set(slack.Nanoseconds())
	return func() { set(int64(before)) }
}

// ProcessCPU is the CPU time of the whole process.
func ProcessCPU() (time.Duration, bool) {
	used, err := proc.CPUTime(os.Getpid())
	return used, err == nil
}

// Allowed lists the CPUs that the calling thread may use, rising.
func Allowed() ([]int, error) {
	set := unix.NewCPUSet(1 << 13)
	if err := unix.SchedGetaffinityDynamic(0, set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var out []int
	for cpu := range 1 << 13 {
		if set.IsSet(cpu) {
			out = append(out, cpu)
		}
	}
	return out, nil
}
