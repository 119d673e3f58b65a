//go:build !linux

package proc

import (
	"context"
	"os/exec"
	"time"
)

// Leader is a child of ours, without what it starts: there are no process groups here.
type Leader struct{ cmd *exec.Cmd }

// Start starts a command.
func Start(cmd *exec.Cmd) (*Leader, error) { return &Leader{cmd}, cmd.Start() }

// Run waits until the child has ended, and calls then, which may be nil. When ctx is
// cancelled, the child is ended at once: Windows has no signal that asks.
func (l *Leader) Run(ctx context.Context, _ time.Duration, then func()) (cancelled bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- l.cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		cancelled = true
		_ = l.cmd.Process.Kill()
		err = <-ended
	}
	if then != nil {
		then()
	}
	return cancelled, err
}
