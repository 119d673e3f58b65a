package service

// Reading is what a service has used since its meter began. Times are in seconds, of all
// its threads together.
type Reading struct {
	At        float64 `json:"at"`  // since the meter began
	CPU       float64 `json:"cpu"` // on a CPU, of threads that have ended too
	Queue     float64 `json:"queue"`
	QueueHigh float64 `json:"queue_high"` // Queue may be as long, as threads end between two looks
	// Sampled is set where Queue was: it may be as much shorter, too. NoQueue says why it is not known; "": it is.
	Sampled bool   `json:"sampled,omitempty"`
	NoQueue string `json:"no_queue,omitempty"`
	// Throttled is for how long its quota kept CPUs from it; nil: it has no quota that can be read.
	Throttled *float64 `json:"throttled"`
	Processes int      `json:"processes"`
	Threads   int      `json:"threads"`
	// CPUs of the host, in seconds since the meter began: busy for anybody, and taken by the
	// hypervisor; nil: not known.
	Busy  *float64 `json:"busy"`
	Steal *float64 `json:"steal"`
	// Stalled is for how long a task of its control group waited for "cpu", "io" or "memory"; of
	// the host, where it has no group that tells. What is not known is left out.
	Stalled map[string]float64 `json:"stalled"`
}

// QueueLow is how short Queue may be.
func (r Reading) QueueLow() float64 {
	if r.Sampled {
		return max(0, 2*r.Queue-r.QueueHigh)
	}
	return r.Queue
}
