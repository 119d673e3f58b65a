package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is the CPU time of all threads of a process, to the nanosecond: its CPU
// clock (clock_getcpuclockid(3), whose number the C library makes in this way).
func CPUTime(pid int) (time.Duration, error) { return clock(int32(^pid<<3 | scheduled)) } //nolint:gosec // process numbers are below 2^22

// ThreadCPUTime is CPUTime of one thread of this process: what pthread_getcpuclockid gives.
func ThreadCPUTime(tid int) (time.Duration, error) { return clock(int32(^tid<<3 | 4 | scheduled)) } //nolint:gosec // as above

// scheduled is the kind of clock that counts time on a CPU, CPUCLOCK_SCHED (include/linux/posix-timers.h).
const scheduled = 2

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err
}
