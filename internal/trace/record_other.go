//go:build !linux

package trace

import "context"

// Record needs Linux.
func Record(context.Context, Config) (*Result, error) {
	return nil, &Unavailable{"only the kernel of Linux can be asked so"}
}
