//go:build !linux

package runner

import "errors"

type alone struct{}

func takeAlone() (*alone, error) {
	return nil, errors.New(
		"experiments on a live service take Linux, whose control of processes puts back what a kill leaves")
}

func tryAlone() (*alone, error) { return takeAlone() }

func (*alone) close() error { return nil }

// Running reports the live experiment that runs on this host: none can.
func Running() (pid int, runs bool) { return 0, false }
