package trace

// Doing is what a process does with its CPU time.
type Doing struct {
	PID, Parent int
	Work        Work
}

// Work is its own code, or what the kernel does for it.
type Work string

// The works of the kernel that a program may be able to avoid, and the rest.
const (
	OtherWork Work = "" // of the kernel
	OwnCode   Work = "own_code"
	Processes Work = "processes" // they begin and end
	Memory    Work = "memory"    // it is taken and given back
	Faults    Work = "faults"    // of pages; and interrupts
	Clock     Work = "clock"     // is read, which takes no system call where the CPU's own counter does
	Yields    Work = "yields"    // of threads that spin for a lock
	Locks     Work = "locks"
)
