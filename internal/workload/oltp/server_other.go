//go:build !linux

package oltp

import (
	"errors"

	"hostlab/internal/private"
)

var errServer = errors.New("a private PostgreSQL takes Linux")

func serverMeter(int) func() (private.Usage, error) {
	return func() (private.Usage, error) { return private.Usage{}, errServer }
}

func keepTo(int, []int) error { return errServer }
