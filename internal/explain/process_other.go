//go:build !linux

package explain

import (
	"errors"
	"time"
)

// ProcessCPU is known on Linux only.
func ProcessCPU(int64) (time.Duration, error) { return 0, errors.ErrUnsupported }
