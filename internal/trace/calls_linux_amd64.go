package trace

import "golang.org/x/sys/unix"

// Calls that only older architectures have.
func init() {
	kernelWorks[unix.SYS_FORK], kernelWorks[unix.SYS_VFORK], kernelWorks[unix.SYS_TIME] = Processes, Processes, Clock
}
