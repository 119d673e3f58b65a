//go:build !linux

package trace

import (
	"context"
	"time"
)

// Programs need Linux.
type Programs struct{}

func (*Programs) Close() {}

// Record needs Linux.
func (*Programs) Record(ctx context.Context, cfg Config) (*Result, error) { return Record(ctx, cfg) }

func Record(context.Context, Config) (*Result, error) {
	return nil, &Unavailable{"how late threads wake up, and beside whom they run, is seen on Linux alone"}
}

// Calls needs Linux.
func Calls(context.Context, time.Duration) (map[Doing]int, error) {
	return nil, &Unavailable{"what the kernel does for a program is seen on Linux alone"}
}
