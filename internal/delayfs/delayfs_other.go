//go:build !linux

package delayfs

import (
	"context"
	"errors"
	"time"

	"hostlab/internal/worker"
)

const noFUSE = "slowed directories need FUSE, which is Linux's"

// Lacking says why nothing can be mounted here.
func Lacking() string { return noFUSE }

// Jobs lists what worker processes of this package do.
func Jobs() []worker.Job { return nil }

// Mount is one file system.
type Mount struct{}

func New(context.Context, string, string, time.Duration) (*Mount, error) {
	return nil, errors.New(noFUSE)
}

func (m *Mount) Close() error { return nil }

func Sweep() {}
