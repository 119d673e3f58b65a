//go:build !linux

package trace

import "context"

// Programs need Linux.
type Programs struct{}

func (*Programs) Close() {}

// Record needs Linux.
func (*Programs) Record(ctx context.Context, cfg Config) (*Result, error) { return Record(ctx, cfg) }

func Record(context.Context, Config) (*Result, error) {
	return nil, &Unavailable{"how late threads wake up, and beside whom they run, is seen on Linux alone"}
}
