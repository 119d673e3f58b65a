//go:build !linux

package runner

import (
	"context"
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// runGroup runs a command to its end, and ends it, but not what it started, when
// ctx is cancelled. Windows has no signal that asks.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		return <-ended
	}
}
