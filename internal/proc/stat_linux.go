package proc

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func Read(pid int) (s Stat, err error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := line(name)
	if err != nil {
		return s, err
	}
	// pid (comm) state ppid pgrp session ...
	open, shut := strings.IndexByte(b, '('), strings.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return s, fmt.Errorf("%s: no name", name)
	}
	f := strings.Fields(b[shut+1:]) // from the third field, the state, on
	if len(f) < 20 {
		return s, fmt.Errorf("%s: %d fields", name, len(f))
	}
	var n [20]int64
	for i := range n[1:] {
		if n[i+1], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return Stat{PID: pid, Parent: int(n[1]), Group: int(n[2]), Session: int(n[3]), Name: b[open+1 : shut], State: f[0][0],
		Faults: n[8] + n[10], Threads: int(n[17]),
		CPU: time.Duration(n[11]+n[12]) * Tick, Reaped: time.Duration(n[13]+n[14]) * Tick, Started: n[19]}, nil
}

// All reads those that have not ended. Without /proc there are none.
func All() (all []Stat) {
	pids, _ := Numbers()
	for _, pid := range pids {
		if s, err := Read(pid); err == nil && !s.Ended() {
			all = append(all, s)
		}
	}
	return all
}

// line reads a file of one short line. Of hundreds of processes each second that is to cost little, and os.ReadFile
// takes twice as long: it asks for the file's size, offers its descriptor to the poller, and reads again for the end.
func line(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var b [longLine]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return "", &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return string(b[:n]), nil
}

// names are the entries of an open directory.
func names(dir int) (all []string) {
	var b [8 << 10]byte
	for {
		n, err := unix.ReadDirent(dir, b[:])
		if err != nil || n <= 0 {
			return all
		}
		_, _, all = unix.ParseDirent(b[:n], -1, all)
	}
}

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
