package private

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Command is one of the server's programs, as its account, with nothing of our
// environment but what env says, and with its directories open. Its log goes to Log.
// Should we die it gets the signal death.
func (s *Server) Command(path string, args, env []string, death syscall.Signal) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = "/" // ours may be one that the account cannot enter
	cmd.Env = append([]string{"LC_ALL=C", "TZ=UTC"}, env...)
	cmd.ExtraFiles = s.files
	cmd.Stderr = &s.Log
	cmd.WaitDelay = 200 * time.Millisecond // a child may hold the pipe longer than its server lives
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: s.Account.Credential()}
	return cmd
}

// Run runs a program that makes the data, to its end. failed says that it did, as the
// beginning of a sentence; full is the error where the disk was full.
func (s *Server) Run(ctx context.Context, cmd *exec.Cmd, failed string, full func() error) error {
	leader, ended, err := s.keep(cmd)
	if err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		leader.Signal(unix.SIGKILL)
		<-ended //nolint:errcheck // it was killed
		return context.Cause(ctx)
	}
	switch {
	case err == nil:
		return nil
	case s.Log.Full():
		return full()
	}
	return fmt.Errorf("%s: %w%s", failed, err, s.Log.LastWords())
}

// Launch starts the server. after, which may be nil, runs when it has ended, before Done
// is closed.
func (s *Server) Launch(cmd *exec.Cmd, after func()) error {
	s.Log.Reset()
	leader, ended, err := s.keep(cmd)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	s.cmd, s.leader, s.done = cmd, leader, done
	go func() {
		<-ended //nolint:errcheck // what it says is in the state too
		if after != nil {
			after()
		}
		close(done)
	}()
	return nil
}

// Ready waits until the server that was launched has written says, before which it would
// log attempts as errors, and connect succeeds. full is the error where the disk was full.
func (s *Server) Ready(ctx context.Context, says string, connect func(context.Context) error, full func() error) error {
	connects := func() bool {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return connect(ctx) == nil
	}
	for {
		if s.Log.Contains(says) && connects() {
			return nil
		}
		select {
		case <-s.done:
			if s.Log.Full() {
				return full()
			}
			return fmt.Errorf("%s did not start%s", s.kind.Product, s.Log.LastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// keep starts a program and waits for its end on a thread that stays: Linux sends
// Pdeathsig when the thread that started the program ends, and Go ends threads.
func (s *Server) keep(cmd *exec.Cmd) (leader *proc.Leader, ended <-chan error, err error) {
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			leader = proc.Lead(cmd)
		}
		started <- err
		if err == nil {
			done <- leader.Wait(nil)
		}
	}()
	if err := <-started; err != nil {
		return nil, nil, s.startError(cmd.Path, err)
	}
	return leader, done, nil
}

// startError says in one line why a program could not be started.
func (s *Server) startError(path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EACCES):
		hint = "; that account cannot enter its directory: install " + s.kind.Product + " where all may read it"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		hint = fmt.Sprintf("; this container may not let root become %s: run hostlab as a user other than root", s.Account.Name)
	}
	return fmt.Errorf("cannot start %s as %s: %w%s", path, s.Account.Name, err, hint)
}
