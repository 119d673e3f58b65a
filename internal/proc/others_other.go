//go:build !linux

package proc

import (
	"errors"
	"time"
)

// Loads knows nothing here.
func Loads([]int) (map[int]Load, bool) { return nil, false }

// Own is not needed where Loads knows nothing.
func Own() float64 { return 0 }

// CPUTime is known on Linux only.
func CPUTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
