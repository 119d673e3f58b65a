//go:build !linux

package emulate

import (
	"errors"
	"time"
)

var errNone = errors.New(
	"a slow clock is emulated for processes on Linux only; workload dialog emulates one with spins anywhere")

func usable(Method, int) error                    { return errNone }
func newTarget(Method, int, bool) (target, error) { return nil, errNone }

// Reaped is the CPU time of descendants that have ended, where something can be emulated.
func Reaped() time.Duration { return 0 }

func (e *Emulation) watch() {}

// Left is a group whose governor was killed.
type Left struct {
	Group     string
	Processes int
}

// Leftovers are none, nothing is brought back, and nobody is rescued.
func Leftovers() []Left      { return nil }
func Ours(Left) bool         { return false }
func Sweep() ([]Left, error) { return nil, nil }
func Rescue(int)             {}
