//go:build !linux

package trace

import "context"

// Record needs Linux.
func Record(context.Context, Config) (*Result, error) {
	return nil, &Unavailable{"how late threads wake up, and beside whom they run, is seen on Linux alone"}
}
