//go:build unix

package explain

import "golang.org/x/sys/unix"

// processCPU is what this process has used of CPUs, in s.
func processCPU() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
