// Package counters reads what processors and Windows count: on Linux by perf_event_open(2), of a
// CPU or of a thread with all that it starts; on Windows by pdh.dll, with its English names.
package counters

import "errors"

// Event is one to count, by the numbers of perf_event_open(2).
type Event struct {
	Kind   uint32
	Config uint64
}

// ErrEnded is of a thread that has ended, ErrNone of a processor that shows no counters.
var (
	ErrEnded = errors.New("the thread has ended")
	ErrNone  = errors.New("no CPU cycles to count: the hypervisor hides the counters, or the kernel has none")
)

// Count is what was counted while the thread ran for so long.
type Count struct{ Value, Seconds float64 }
