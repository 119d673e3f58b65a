package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Names of the directories within a place, and those that they have in the server's
// programs, which get them as open files.
const (
	dataName, runName, logName = "data", "run", "log"

	DataFile, RunFile, LogFile = "/proc/self/fd/3", "/proc/self/fd/4", "/proc/self/fd/5"
)

// Server is what servers of all makes have in common: who they run as, their
// directories, their process from its start until it has ended and is reaped, and what
// that wrote. The Server of a make embeds it, calls Prepare first, and End in any case.
type Server struct {
	Account Account
	Log     Tail
	Home    *Place   // of the data and the socket
	Logs    *Place   // nil: the log is among the data
	More    []*Place // what else goes with the server

	kind    Kind
	files   []*os.File // the directories, in the order of the constants
	cmd     *exec.Cmd
	leader  *proc.Leader
	done    chan struct{} // nil: it was not started yet
	closing sync.Once
	closed  error
}

// Prepare decides who the server runs as and makes its directories in parent and, where
// that is not empty, logParent. It first removes what servers of killed processes have
// left there.
func (s *Server) Prepare(k Kind, parent, logParent string) (err error) {
	s.kind = k
	if s.Account, err = k.Account(); err != nil {
		return err
	}
	k.Sweep(parent)
	if logParent != "" {
		k.Sweep(logParent)
	}
	if s.Home, err = k.NewPlace(parent); err != nil {
		return err
	}
	for _, name := range []string{dataName, runName} {
		if err := s.open(s.Home, name); err != nil {
			return err
		}
	}
	if logParent == "" {
		return nil
	}
	if s.Logs, err = k.NewPlace(logParent); err != nil {
		return err
	}
	return s.open(s.Logs, logName)
}

func (s *Server) open(in *Place, name string) error {
	f, err := in.Sub(name, s.Account)
	if err == nil {
		s.files = append(s.files, f)
	}
	return err
}

// Dir is the directory of the data.
func (s *Server) Dir() string { return filepath.Join(s.Home.Path, dataName) }

// SocketDir is where the socket lies, for other clients; its path may be too long for
// them. Our own connections take SocketFD.
func (s *Server) SocketDir() string { return filepath.Join(s.Home.Path, runName) }

// SocketFD is the number that SocketDir has in our process, which holds it open.
func (s *Server) SocketFD() uintptr { return s.files[1].Fd() }

// PID is the number of the server's process, the parent of any others.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// EndInside kills what runs in the directory of the data.
func (s *Server) EndInside() error { return s.kind.endInside(s.files[0]) }

// HasEnded reports whether Done is closed.
func (s *Server) HasEnded() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Err is nil while the server runs, and afterwards says in one line how it ended.
func (s *Server) Err() error {
	if !s.HasEnded() {
		return nil
	}
	return errors.New(s.kind.Product + " " + ended(s.cmd.ProcessState, &s.Log))
}

// ended says in words how a server ended that nobody told to, as the end of a sentence
// that starts with its name.
func ended(state *os.ProcessState, log *Tail) string {
	how := "ended by itself"
	if ws, ok := state.Sys().(syscall.WaitStatus); ok {
		switch {
		case ws.Signaled():
			how = fmt.Sprintf("was ended by signal %d (%s)", int(ws.Signal()), unix.SignalName(ws.Signal()))
		case ws.ExitStatus() != 0:
			how = fmt.Sprintf("ended with status %d", ws.ExitStatus())
		}
	}
	if log.Full() {
		how += " on a full disk"
	}
	return how + " in the middle" + log.LastWords()
}

// Move has the log in a directory of ours in parent, with the same data: stop ends the
// server in good order, and start launches it again. When it fails the server may have
// ended, and End is due.
func (s *Server) Move(ctx context.Context, parent string, stop, start func(context.Context) error) error {
	if s.Logs == nil {
		return errors.New("the log is among the data")
	}
	if err := stop(ctx); err != nil {
		return err
	}
	to, file, err := s.kind.move(s.Logs, parent, s.Account)
	if err != nil {
		return err
	}
	from := s.Logs
	s.files[2].Close()
	s.Logs, s.files[2] = to, file
	return errors.Join(from.Remove(), start(ctx))
}

// ShutDown asks for an end in good order by a signal, and waits for it. wrong is what
// went wrong where the server has ended in another way; slow is the error of one that
// does not end within limit.
func (s *Server) ShutDown(ctx context.Context, sig unix.Signal, limit time.Duration, wrong func() error, slow error) error {
	if s.HasEnded() {
		return wrong()
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s cannot be shut down: %w", s.kind.Product, err)
	}
	select {
	case <-s.done:
		if !s.cmd.ProcessState.Success() {
			return wrong()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return slow
	}
}

// End sends the signals one after the other to the server's group, where it was started,
// and gives it so long after each; then it removes everything. It may be called again.
func (s *Server) End(limit time.Duration, signals ...unix.Signal) error {
	s.closing.Do(func() {
		if s.done != nil {
			s.signal(limit, signals)
		}
		for _, f := range s.files {
			f.Close()
		}
		for _, p := range append([]*Place{s.Home, s.Logs}, s.More...) {
			if p != nil {
				s.closed = errors.Join(s.closed, p.Remove())
			}
		}
	})
	return s.closed
}

func (s *Server) signal(limit time.Duration, signals []unix.Signal) {
	for _, sig := range signals {
		s.leader.Signal(sig)
		select {
		case <-s.done:
		case <-time.After(limit):
		}
	}
}
