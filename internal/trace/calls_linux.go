package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// kernelWorks are works by the numbers of system calls (syscalls(2)), which differ by architecture.
var kernelWorks = map[int32]Work{
	unix.SYS_CLONE: Processes, unix.SYS_CLONE3: Processes, unix.SYS_EXECVE: Processes, unix.SYS_EXECVEAT: Processes,
	unix.SYS_EXIT: Processes, unix.SYS_EXIT_GROUP: Processes, unix.SYS_WAIT4: Processes, unix.SYS_WAITID: Processes,
	unix.SYS_MMAP: Memory, unix.SYS_MUNMAP: Memory, unix.SYS_MREMAP: Memory, unix.SYS_MADVISE: Memory, unix.SYS_BRK: Memory,
	unix.SYS_MPROTECT:      Memory,
	unix.SYS_CLOCK_GETTIME: Clock, unix.SYS_GETTIMEOFDAY: Clock,
	unix.SYS_SCHED_YIELD: Yields, unix.SYS_FUTEX: Locks,
	-1: Faults, -2: OwnCode,
}

// Samples are taken so many times a second on each CPU, and fewer where the kernel has no room for all (kernel/calls.c).
const (
	callsRate = 99
	callsRoom = 1 << 14
)

// Calls counts samples of what all processes do with their CPU time. An *Unavailable is a kernel or user for which that cannot be.
func Calls(ctx context.Context, lasts time.Duration) (seen map[Doing]int, err error) {
	cpus, err := online(host.Tree{})
	if err != nil {
		return nil, err
	}
	var o callsObjects
	if err := loadCallsObjects(&o, nil); err != nil {
		return nil, unavailable(err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	rate := min(callsRate, uint64(callsRoom/max(1, lasts.Seconds()*float64(len(cpus)))))
	for _, cpu := range cpus {
		for _, of := range []struct {
			program *ebpf.Program
			bits    uint64
		}{{o.InKernel, unix.PerfBitExcludeUser | unix.PerfBitExcludeIdle}, {o.InOwnCode, unix.PerfBitExcludeKernel}} {
			fd, err := sampler(cpu, max(1, rate), of.bits, of.program)
			if err != nil {
				return nil, unavailable(err)
			}
			defer unix.Close(fd)
		}
	}
	_ = proc.Sleep(ctx, lasts)
	return doings(&o)
}

// sampler runs a program at each tick of a CPU's clock that comes in a mode.
func sampler(cpu int, rate, bits uint64, program *ebpf.Program) (int, error) {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: unix.PERF_ATTR_SIZE_VER1, Sample: rate, Bits: bits | unix.PerfBitFreq}, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("perf_event_open: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()); err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// doings are the samples of each.
func doings(o *callsObjects) (map[Doing]int, error) {
	seen := map[Doing]int{}
	var key callsDoing
	var n uint64
	all := o.Doings.Iterate()
	for all.Next(&key, &n) {
		seen[Doing{int(key.Tgid), int(key.Parent), kernelWorks[key.Call]}] += int(n) //nolint:gosec // of some minutes
	}
	return seen, all.Err()
}
