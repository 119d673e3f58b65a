package assess

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// requested is what the driver tells of the clock.
const requested = "scaling_cur_freq"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted, because their counters differ by processor; on Intel, perf stat -e " +
	"dtlb_load_misses.walk_active shows them"

// nearby is why a server was reached on this host whose processes are not looked at.
const nearby = "its processes do not show on this host, where it was reached; run hostlab as root, and where they are"

// allowed are the CPUs that a process may use; nil: not known.
func allowed(pid int) (cpus []int) {
	var set unix.CPUSet
	if pid == 0 || unix.SchedGetaffinity(pid, &set) != nil { // also where a host has more than 1,024
		return nil
	}
	for cpu := range len(set) * bits.UintSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}
