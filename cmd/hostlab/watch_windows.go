package main

import (
	"context"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/watch"
)

// openSampler opens Windows' counters, whose means need a second.
func openSampler(ctx context.Context, _ host.Tree, o *watchOptions) (sampler, error) {
	if o.interval < time.Second {
		return nil, usagef("--interval %s: on Windows expected 1s to 1h; performance counters need a second", o.interval)
	}
	s, err := watch.OpenCounters(ctx, o.logDir)
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, cannotLook{err}
}
