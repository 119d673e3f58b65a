//go:build !linux

package oltp

import "errors"

func keepTo(int, []int) error { return errors.New("a private PostgreSQL takes Linux") }
