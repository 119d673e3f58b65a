package privatedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// startLimit is how long a server may take to start and to shut down: recovery is not
// needed, but a slow disk is. stopLimit is for an end; PostgreSQL gives its children five.
const (
	startLimit = 60 * time.Second
	stopLimit  = 6 * time.Second
)

// Names of the directories within a place, and those that they have in the server's
// programs, which get them as open files.
const (
	dataName, runName, logName = "data", "run", "log"

	dataFile, runFile, logFile = "/proc/self/fd/3", "/proc/self/fd/4", "/proc/self/fd/5"
)

// Server is a running one: who it runs as, its directories, its process from its start
// until it has ended and is reaped, and what that wrote. Close must be called.
type Server struct {
	Vendor   *Vendor
	Programs Programs
	Log      Tail

	cfg       Config
	account   Account
	places    []*Place   // the data and the socket; the log, where that lies elsewhere; what else goes with the server
	logs      *Place     // nil: the log is among the data
	temporary string     // directory of temporary tables, where the vendor takes one
	files     []*os.File // the directories, in the order of the constants
	cmd       *exec.Cmd
	leader    *proc.Leader
	meter     *Meter
	done      chan struct{} // nil: it was not started yet
	closing   sync.Once
	closed    error
}

// Start makes the data and starts their server. It first removes what servers of killed
// processes have left in the directories of cfg. ctx bounds the start alone; when Start
// fails nothing is left. Errors are one line each; *Missing is one of them.
func Start(ctx context.Context, v *Vendor, cfg Config) (_ *Server, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Server{Vendor: v, cfg: cfg}
	if s.Programs, err = v.Find(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.directories(); err != nil {
		return nil, err
	}
	if err := v.prepare(s); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, s.slow("make its data"))
	defer cancel()
	if err := s.run(limited, v.create(s)); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// slow returns the error of a server that did not do something in time.
func (s *Server) slow(what string) error {
	return fmt.Errorf("%s did not %s within %s; look for a full or very slow disk below %s", s.Vendor.Product, what,
		startLimit,
		s.cfg.Parent)
}

// directories decides who the server runs as and makes its directories.
func (s *Server) directories() (err error) {
	v := s.Vendor
	if s.account, err = v.Account(); err != nil {
		return err
	}
	v.Sweep(s.cfg.Parent)
	if s.cfg.LogDir != "" {
		v.Sweep(s.cfg.LogDir)
	}
	home, err := v.NewPlace(s.cfg.Parent)
	if err != nil {
		return err
	}
	s.places = append(s.places, home)
	for _, name := range []string{dataName, runName} {
		if err := s.open(home, name); err != nil {
			return err
		}
	}
	if s.cfg.LogDir == "" {
		return nil
	}
	if s.logs, err = v.NewPlace(s.cfg.LogDir); err != nil {
		return err
	}
	s.places = append(s.places, s.logs)
	return s.open(s.logs, logName)
}

func (s *Server) open(in *Place, name string) error {
	f, err := in.Sub(name, s.account)
	if err == nil {
		s.files = append(s.files, f)
	}
	return err
}

// writeService makes an empty service file.
func writeService(s *Server) error {
	if err := s.places[0].dir.WriteFile(serviceName, []byte("[hostlab]\n"), 0o600); err != nil {
		return s.Vendor.CannotMake(s.cfg.Parent, err)
	}
	return nil
}

func (s *Server) home() string { return s.places[0].Path }

func (s *Server) separateLog() bool { return s.logs != nil }

// parents returns the directories in which the server's own were made.
func (s *Server) parents() []string {
	if s.logs == nil {
		return []string{s.cfg.Parent}
	}
	return []string{s.cfg.Parent, filepath.Dir(s.logs.Path)}
}

// Dir is the directory of the data.
func (s *Server) Dir() string { return filepath.Join(s.home(), dataName) }

// SocketDir is where the socket lies, for other clients; its path may be too long for
// them.
func (s *Server) SocketDir() string { return filepath.Join(s.home(), runName) }

// socket returns the path of a socket through the directory that we hold open.
func (s *Server) socket(name string) string {
	return fmt.Sprintf("/proc/%d/fd/%d/%s", os.Getpid(), s.files[1].Fd(), name)
}

// PID is the number of the server's process, the parent of any others.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// hasEnded reports whether Done is closed.
func (s *Server) hasEnded() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Err is nil while the server runs, and afterwards says in one line how it ended.
func (s *Server) Err() error {
	v := s.Vendor
	switch {
	case !s.hasEnded():
		return nil
	case v.logName != "" && s.Log.Full() && s.Log.Contains(v.logName): // it cannot go on without a log
		where := s.parents()
		return fmt.Errorf(
			"%s's log has no room left in %s: it keeps all that a run writes; make room, choose another directory for "+
				"it, or write less%s", v.Product, where[len(where)-1], s.Log.LastWords())
	}
	return errors.New(v.Product + " " + ended(s.cmd.ProcessState, &s.Log))
}

// ended returns how a server ended by itself, as the end of a sentence
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

// MoveLog shuts the server down, copies its log to a directory of ours in parent and starts
// it again: the same data with their log on another device. The server must have been started
// with a LogDir, and nothing may be connected that is still needed. When it fails the server
// may have ended, and Close is due.
func (s *Server) MoveLog(ctx context.Context, parent string) error {
	if s.logs == nil {
		return errors.New("the log is among the data")
	}
	if err := s.shutDown(ctx); err != nil {
		return err
	}
	to, file, err := s.Vendor.move(s.logs, parent, s.account)
	if err != nil {
		return err
	}
	from := s.logs
	s.files[2].Close()
	s.logs, s.files[2] = to, file
	s.places[slices.Index(s.places, from)] = to
	return errors.Join(from.Remove(), s.start(ctx))
}

// shutDown asks for an end that leaves the data whole without the log, and waits for it.
func (s *Server) shutDown(ctx context.Context) error {
	if s.hasEnded() {
		return s.Err()
	}
	if err := s.cmd.Process.Signal(s.Vendor.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s cannot be shut down: %w", s.Vendor.Product, err)
	}
	select {
	case <-s.done:
		if !s.cmd.ProcessState.Success() {
			return s.Err()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(startLimit):
		return s.slow("shut down")
	}
}

// AwaitEnd waits, but for no more than a second, until the process of a connection that
// was closed has ended: it does so somewhat later, and what is measured next would feel it.
func (s *Server) AwaitEnd(pid int) {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if p, err := readProcess(pid); err != nil || p.Parent != s.PID() {
			return
		}
	}
}

// CPU returns what the server's processes have used so far; sessions by their processes,
// where they have some. For two readings see Usage.Since.
func (s *Server) CPU() (u Usage, err error) {
	if s.Vendor.forks {
		u, err = s.meter.Read()
	} else {
		u.All, err = proc.CPUTime(s.PID())
	}
	if err != nil {
		if serr := s.Err(); serr != nil {
			return u, serr
		}
		return u, fmt.Errorf("CPU time of %s: %w", s.Vendor.Product, err)
	}
	return u, nil
}

// Close ends the server and removes everything. It may be called again.
func (s *Server) Close() error {
	s.closing.Do(func() {
		for _, sig := range s.Vendor.end {
			if s.done == nil {
				break
			}
			s.leader.Signal(sig)
			select {
			case <-s.done:
			case <-time.After(stopLimit):
			}
		}
		for _, f := range s.files {
			f.Close()
		}
		for _, p := range s.places {
			s.closed = errors.Join(s.closed, p.Remove())
		}
	})
	return s.closed
}
