package model

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time that this process has used, so that benchmarks on a busy
// machine report events per CPU second.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
