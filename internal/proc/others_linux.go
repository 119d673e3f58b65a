package proc

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Loads reads what CPUs have done since boot, all with nil, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func Loads(cpus []int) (map[int]Load, bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, false
	}
	all, err := ParseCPUs(b)
	if err != nil {
		return nil, false
	}
	out := map[int]Load{}
	for _, c := range all {
		if cpus == nil || slices.Contains(cpus, c.ID) {
			out[c.ID] = Load{Busy: c.Busy(), Steal: c.Steal}
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
