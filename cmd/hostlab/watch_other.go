//go:build !windows

package main

import (
	"context"

	"hostlab/internal/host"
	"hostlab/internal/watch"
)

func openSampler(_ context.Context, tree host.Tree, o *watchOptions) (sampler, error) {
	s, err := watch.Open(watch.Config{Tree: tree, LogDir: o.logDir})
	if err != nil {
		return nil, cannotLook{err}
	}
	return s, nil
}
