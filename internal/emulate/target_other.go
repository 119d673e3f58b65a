//go:build !linux

package emulate

import (
	"errors"
	"time"
)

var errNone = errors.New(
	"a slow clock is emulated for processes on Linux only; workload dialog emulates one with spins anywhere")

// Usable says why no clock can be emulated on this host.
func Usable() error { return errNone }

func newTarget(int, bool) target { panic(errNone) } // Usable is asked before

// Reaped is the CPU time of descendants that have ended, where something can be emulated.
func Reaped() time.Duration { return 0 }

func (e *Emulation) watch() {}

// Rescue has nobody to continue.
func Rescue(int) {}
