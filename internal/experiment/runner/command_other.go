//go:build !linux

package runner

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// terminate waits for nothing here: Windows has no signal that asks.
func terminate(*os.Process) {}

func kill(p *os.Process) { _ = p.Kill() }
