package watch

import (
	"context"
	"time"
)

// Shortest is the least time between two readings that mean something: performance counters are means of a second.
const Shortest = time.Second

// OpenHere opens this system's counters.
func OpenHere(ctx context.Context, cfg Config) (Counter, error) {
	c, err := OpenCounters(ctx, cfg.LogDir)
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return c, nil
}
