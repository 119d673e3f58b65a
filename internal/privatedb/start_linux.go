package privatedb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// command is one of the server's programs, empty: its own, as its account, with nothing of
// our environment and with its directories open. Its log goes to Log. Should we die it gets
// the signal death.
func (s *Server) command(name string, args []string, death syscall.Signal) *exec.Cmd {
	path := s.Programs.Server
	if name != "" {
		path = filepath.Join(filepath.Dir(path), name)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/" // ours may be one that the account cannot enter
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + filepath.Dir(path) + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	if s.cfg.Mark != "" {
		cmd.Env = append(cmd.Env, s.cfg.Mark)
	}
	cmd.ExtraFiles = s.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: s.account.Credential()}
	return cmd
}

// diskFull returns the error of a server that found no room for its data.
func (s *Server) diskFull() error {
	return diskFull(s.Vendor.Product, s.Vendor.takes(s), s.parents()...)
}

// run runs the program that makes the data, to its end.
func (s *Server) run(ctx context.Context, cmd *exec.Cmd) error {
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
		return s.diskFull()
	}
	return fmt.Errorf("%s could not make its data: %s: %w%s", s.Vendor.Product, filepath.Base(cmd.Path), err,
		s.Log.LastWords())
}

// start launches the server of data that there are, and waits until it takes connections.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, s.slow("start"))
	defer cancel()
	s.Log.Reset()
	cmd := s.Vendor.serve(s)
	leader, ended, err := s.keep(cmd)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	s.cmd, s.leader, s.done, s.meter = cmd, leader, done, &Meter{Server: cmd.Process.Pid}
	data := s.files[0]
	go func() {
		<-ended //nolint:errcheck // what it says is in the state too
		// Without a postmaster its backends would go on until their query has ended.
		_ = s.Vendor.endInside(data) // Close tries again, and says so
		close(done)
	}()
	// Before it says that it is ready it would log attempts as errors.
	for !s.Log.Contains(s.Vendor.ready) || !s.connects(ctx) {
		select {
		case <-s.done:
			if s.Log.Full() {
				return s.diskFull()
			}
			return fmt.Errorf("%s did not start%s", s.Vendor.Product, s.Log.LastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (s *Server) connects(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := s.Open()
	if err != nil {
		return false
	}
	return errors.Join(db.PingContext(ctx), db.Close()) == nil
}

// keep starts a program and waits for its end on a thread that stays: Linux sends
// Pdeathsig when the thread that started the program ends, and Go ends threads.
func (s *Server) keep(cmd *exec.Cmd) (leader *proc.Leader, ended <-chan error, err error) {
	const open = 200 * time.Millisecond // a child may hold the pipe longer than its server lives
	log, err := proc.Print(cmd, io.Discard, &s.Log)
	if err != nil {
		return nil, nil, err
	}
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		if log.Started(); err == nil {
			leader = proc.Lead(cmd)
		}
		started <- err
		if err == nil {
			err = leader.Wait(nil)
			log.End(open)
			done <- err
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
		hint = "; that account cannot enter its directory: install " + s.Vendor.Product + " where all may read it"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		hint = fmt.Sprintf("; this container may not let root become %s: run hostlab as a user other than root",
			s.account.Name)
	}
	return fmt.Errorf("cannot start %s as %s: %w%s", path, s.account.Name, err, hint)
}
