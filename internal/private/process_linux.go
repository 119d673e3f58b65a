package private

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processes lists the numbers of all that /proc shows.
func processes() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// EndInside kills the processes whose working directory is that one, until there are
// none: that is what a server and all its children have in common, as those of
// PostgreSQL make a session each (setsid in InitPostmasterChild).
func (k Kind) EndInside(dir string) error {
	want, err := os.Stat(dir)
	if err != nil {
		return nil //nolint:nilerr // it is not there, and so nobody is inside
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for _, pid := range processes() {
			if at, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && os.SameFile(at, want) {
				left = pid
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d of %s does not end; its directory %s is being removed all the same", left, k.Product, filepath.Dir(dir))
		}
	}
}

// userHz is the unit of times in /proc/PID/stat, the same on all platforms of Linux
// that Go has.
const userHz = 100

// CPU reads what a server's processes have used so far: the one of that number and its
// children. Those that live are read to the nanosecond where the kernel has schedstat;
// those that have ended, such as parallel workers, count in units of 10 ms altogether.
func CPU(server int) (Usage, error) {
	u := Usage{Session: map[int]time.Duration{}}
	own, _, ended, err := times(server)
	if err != nil {
		return u, err
	}
	u.All = own + ended
	for _, pid := range processes() {
		// One that ends between these lines is in neither sum: it has used little since.
		if cpu, parent, _, err := times(pid); err == nil && parent == server {
			u.Session[pid] = cpu
			u.All += cpu
		}
	}
	return u, nil
}

// times reads proc_pid_stat(5): the CPU time of a process, its parent, and the CPU
// time of its children that it has waited for.
func times(pid int) (cpu time.Duration, parent int, ended time.Duration, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	b, err := os.ReadFile(dir + "stat")
	if err != nil {
		return 0, 0, 0, err
	}
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // from the third field, the state, on
	if len(f) < 15 {
		return 0, 0, 0, fmt.Errorf("%sstat: %d fields", dir, len(f))
	}
	var n [5]int64
	for i, at := range []int{1, 11, 12, 13, 14} { // ppid, utime, stime, cutime, cstime
		if n[i], err = strconv.ParseInt(f[at], 10, 64); err != nil {
			return 0, 0, 0, fmt.Errorf("%sstat: %w", dir, err)
		}
	}
	const tick = time.Second / userHz
	cpu = time.Duration(n[1]+n[2]) * tick
	// The time on a CPU in ns (Documentation/scheduler/sched-stats.rst); a zombie's is
	// still there.
	if b, err := os.ReadFile(dir + "schedstat"); err == nil {
		if f := strings.Fields(string(b)); len(f) == 3 {
			if ns, err := strconv.ParseInt(f[0], 10, 64); err == nil {
				cpu = time.Duration(ns)
			}
		}
	}
	return cpu, int(n[0]), time.Duration(n[3]+n[4]) * tick, nil
}

// ProcessCPU is the CPU time of all threads of a process, to the nanosecond: its CPU
// clock (clock_getcpuclockid(3), whose number the C library makes in this way).
func ProcessCPU(pid int) (time.Duration, error) {
	const cpuClockSched = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClockSched), &t); err != nil { //nolint:gosec // process numbers are below 2^22
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
