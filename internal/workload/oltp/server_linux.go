package oltp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// keepTo lets a process of the server's run on some CPUs only.
func keepTo(pid int, cpus []int) error {
	set := unix.NewCPUSet(1 << 13)
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinityDynamic(pid, set); err != nil {
		return fmt.Errorf("the server's process %d cannot be kept to CPUs %v: %w", pid, cpus, err)
	}
	return nil
}
