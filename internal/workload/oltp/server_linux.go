package oltp

import (
	"fmt"

	"golang.org/x/sys/unix"

	"hostlab/internal/private"
)

// serverMeter reads the CPU time of a server's processes.
func serverMeter(postmaster int) func() (private.Usage, error) {
	return (&private.Meter{Server: postmaster}).Read
}

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
