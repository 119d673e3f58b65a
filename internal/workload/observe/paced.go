package observe

import (
	"time"

	"hostlab/internal/workload"
)

// Takes implements workload.Paced.
func (Workload) Takes(p workload.Values, block int) time.Duration {
	long, short := p.Duration("for"), p.Duration("short")
	if block < first && short > 0 {
		return min(short, long)
	}
	return long
}
