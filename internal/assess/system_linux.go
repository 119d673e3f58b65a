package assess

import "golang.org/x/sys/unix"

// requested is what the driver tells of the clock.
const requested = "scaling_cur_freq"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted, because their counters differ by processor; on Intel, perf stat -e " +
	"dtlb_load_misses.walk_active shows them"

// allowed is how many CPUs a process may use; 0: not known.
func allowed(pid int) int {
	var set unix.CPUSet
	if pid == 0 || unix.SchedGetaffinity(pid, &set) != nil { // also where a host has more than 1,024
		return 0
	}
	return set.Count()
}
