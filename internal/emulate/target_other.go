//go:build !linux

package emulate

import (
	"errors"
	"time"
)

var errNone = errors.New("a slow clock is emulated for processes on Linux only; workload dialog emulates one with spins anywhere")

func usable(Method) error                         { return errNone }
func newTarget(Method, int, bool) (target, error) { return nil, errNone }

// Reaped is the CPU time of descendants that have ended, where something can be emulated.
func Reaped() time.Duration { return 0 }

func (e *Emulation) watch() {}

// Sweep has nothing to let go.
func Sweep() {}

// Rescue neither.
func Rescue(int) {}
