//go:build !linux

package oltp

import (
	"errors"
	"time"
)

var errServer = errors.New("a private PostgreSQL takes Linux")

func serverCPU(int) (time.Duration, error) { return 0, errServer }
func keepTo(int, []int) error              { return errServer }
