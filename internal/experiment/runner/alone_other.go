//go:build !linux

package runner

import "fmt"

type alone struct{}

func takeAlone() (*alone, error) {
	return nil, fmt.Errorf("experiments on a live service take Linux, whose socket %s lets one at a time in", aloneName)
}

func tryAlone() (*alone, error) { return takeAlone() }

func (*alone) close() error { return nil }

func aloneHolder() string { return "" }

// Running reports the live experiment that runs on this host: none can.
func Running() (pid int, runs bool) { return 0, false }
