package private

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processes lists the numbers of all that /proc shows.
func processes() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
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
		pids, _ := processes() // without /proc nobody can be found
		for _, pid := range pids {
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
