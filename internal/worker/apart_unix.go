//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// apart gives a worker a session of its own: what ends a group or a terminal leaves it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
