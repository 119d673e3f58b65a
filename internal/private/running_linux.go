package private

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs a program of a server that makes its data, to its end. failed is how it
// ended; err is that it could not be started, or the cause of ctx's end, which kills it.
func (k Kind) Run(ctx context.Context, cmd *exec.Cmd, a Account) (failed, err error) {
	ended, err := Keep(cmd)
	if err != nil {
		return nil, k.StartError(cmd.Path, a, err)
	}
	select {
	case failed = <-ended:
		return failed, nil
	case <-ctx.Done():
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		<-ended //nolint:errcheck // it was killed
		return nil, context.Cause(ctx)
	}
}

// Running is a server's process, from its start until it has ended and is reaped.
type Running struct {
	product string
	cmd     *exec.Cmd
	done    chan struct{}
}

// Launch starts a server. after, which may be nil, runs when it has ended, before Done
// is closed.
func (k Kind) Launch(cmd *exec.Cmd, a Account, after func()) (*Running, error) {
	ended, err := Keep(cmd)
	if err != nil {
		return nil, k.StartError(cmd.Path, a, err)
	}
	r := &Running{product: k.Product, cmd: cmd, done: make(chan struct{})}
	go func() {
		<-ended //nolint:errcheck // what it says is in the state too
		if after != nil {
			after()
		}
		close(r.done)
	}()
	return r, nil
}

// PID is the process's.
func (r *Running) PID() int { return r.cmd.Process.Pid }

// Done is closed when the server has ended, for whatever reason.
func (r *Running) Done() <-chan struct{} { return r.done }

// HasEnded reports whether Done is closed.
func (r *Running) HasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// HowItEnded says so in one line. The server has ended, and nobody told it to.
func (r *Running) HowItEnded(log *Tail) string {
	return r.product + " " + ended(r.cmd.ProcessState, log)
}

// ShutDown asks for an end in good order by a signal, and waits for it. wrong is what
// went wrong where the server has ended in another way; slow is the error of one that
// does not end within limit.
func (r *Running) ShutDown(ctx context.Context, sig unix.Signal, limit time.Duration, wrong func() error, slow error) error {
	if r.HasEnded() {
		return wrong()
	}
	if err := unix.Kill(r.PID(), sig); err != nil {
		return fmt.Errorf("%s cannot be shut down: %w", r.product, err)
	}
	select {
	case <-r.done:
		if !r.cmd.ProcessState.Success() {
			return wrong()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return slow
	}
}

// End sends the signals one after the other to the server's group, and gives it so long
// after each.
func (r *Running) End(limit time.Duration, signals ...unix.Signal) {
	for _, sig := range signals {
		// Not reaped before done is closed, so the number is still its own.
		if !r.HasEnded() {
			_ = unix.Kill(-r.PID(), sig)
		}
		select {
		case <-r.done:
		case <-time.After(limit):
		}
	}
}
