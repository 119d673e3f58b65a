//go:build !linux

package emulate

import "errors"

var errNone = errors.New("a slow clock is emulated for processes on Linux only; workload dialog emulates one with spins anywhere")

func usable(Method) error                   { return errNone }
func newTarget(Method, int) (target, error) { return nil, errNone }
func (e *Emulation) watch()                 {}
