package probe

import (
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// readLoad reads what CPUs have done since boot, in seconds, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func readLoad(cpus []int) (map[int]cpuLoad, bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, false
	}
	st, err := fs.Stat()
	if err != nil {
		return nil, false
	}
	out := map[int]cpuLoad{}
	for _, cpu := range cpus {
		c, ok := st.CPU[int64(cpu)]
		if !ok {
			continue // offline
		}
		// Guest time is contained in User, guest nice in Nice.
		out[cpu] = cpuLoad{Busy: c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ, Steal: c.Steal}
	}
	return out, true
}

// ownCPU returns the CPU seconds of this process and of its ended children.
func ownCPU() (s float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var ru unix.Rusage
		if unix.Getrusage(who, &ru) == nil {
			s += float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
		}
	}
	return s
}
