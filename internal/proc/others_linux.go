package proc

import (
	"slices"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Loads reads what CPUs have done since boot, all with nil, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func Loads(cpus []int) (map[int]Load, bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, false
	}
	st, err := fs.Stat()
	if err != nil {
		return nil, false
	}
	out := map[int]Load{}
	for n, c := range st.CPU {
		if cpus == nil || slices.Contains(cpus, int(n)) {
			// Guest time is contained in User, guest nice in Nice.
			out[int(n)] = Load{Busy: c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ, Steal: c.Steal}
		}
	}
	return out, len(out) > 0 // a container may mask the file
}

// Own returns the CPU seconds of this process and of its ended children.
func Own() (s float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var ru unix.Rusage
		if unix.Getrusage(who, &ru) == nil {
			s += float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
		}
	}
	return s
}
