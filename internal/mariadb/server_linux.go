package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"

	"hostlab/internal/private"
)

// Names within a place, and the numbers that their open files have in the server: see
// package postgres.
const (
	dataName, runName, logName, tmpName = "data", "run", "log", "tmp"

	dataFile, runFile, logFile = "/proc/self/fd/3", "/proc/self/fd/4", "/proc/self/fd/5"
)

// kind is how our directories are known. Accounts: MariaDB's packages make the first.
var kind = private.Kind{Product: "MariaDB", Prefix: "hostlab-mariadb-", Accounts: []string{"mysql", "nobody"}, Data: dataName}

// Server is a running one. Close must be called.
type Server struct {
	Programs Programs

	account private.Account
	place   *private.Place
	redo    *private.Place // nil: among the data
	scratch *private.Place // nil: place
	tmp     string         // directory of temporary tables
	files   []*os.File
	cfg     Config
	log     private.Tail

	running *private.Running // nil: it was not started yet
	closing sync.Once
	closed  error
}

// Start makes the data and starts their server. It first removes what servers of
// killed processes have left in cfg.Parent. ctx bounds the start alone; when Start
// fails nothing is left. Errors are one line each; *Missing is one of them.
func Start(ctx context.Context, cfg Config) (_ *Server, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	if s.Programs, err = Find(ctx); err != nil {
		return nil, err
	}
	if s.account, err = kind.Account(); err != nil {
		return nil, err
	}
	kind.Sweep(cfg.Parent)
	if cfg.LogDir != "" {
		kind.Sweep(cfg.LogDir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.directories(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, s.slow("make its data"))
	defer cancel()
	if err := s.bootstrap(limited); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

func (s *Server) slow(what string) error {
	return fmt.Errorf("MariaDB did not %s within %s; look for a full or very slow disk below %s", what, startLimit, s.cfg.Parent)
}

func (s *Server) directories() (err error) {
	if s.place, err = kind.NewPlace(s.cfg.Parent); err != nil {
		return err
	}
	for _, name := range []string{dataName, runName} {
		f, err := s.place.Sub(name, s.account)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
	}
	if err := s.temporary(); err != nil {
		return err
	}
	if s.cfg.LogDir == "" {
		return nil
	}
	if s.redo, err = kind.NewPlace(s.cfg.LogDir); err != nil {
		return err
	}
	f, err := s.redo.Sub(logName, s.account)
	if err == nil {
		s.files = append(s.files, f)
	}
	return err
}

// temporary has a directory to which the server's account can walk by name.
func (s *Server) temporary() (err error) {
	in := s.place
	if s.account.Other {
		parents := []string{s.cfg.Parent, os.TempDir(), "/tmp", "/var/tmp"}
		i := slices.IndexFunc(parents, open)
		if i < 0 {
			return fmt.Errorf("MariaDB runs as %s here, and can enter neither %s nor /tmp for its temporary tables; set TMPDIR to a directory that all may enter", s.account.Name, s.cfg.Parent)
		}
		kind.Sweep(parents[i])
		if s.scratch, err = kind.NewPlace(parents[i]); err != nil {
			return err
		}
		if err := os.Chmod(s.scratch.Path, 0o711); err != nil { //nolint:gosec // to walk through; what is within is the account's
			return kind.CannotMake(parents[i], err)
		}
		in = s.scratch
	}
	f, err := in.Sub(tmpName, s.account)
	if err != nil {
		return err
	}
	s.tmp = filepath.Join(in.Path, tmpName)
	return f.Close()
}

// open reports whether everybody may walk to a directory.
func open(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}

// command is the server's program.
func (s *Server) command(more ...string) *exec.Cmd {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if s.cfg.Mark != "" {
		env = append(env, s.cfg.Mark)
	}
	redo := dataFile
	if s.redo != nil {
		redo = logFile
	}
	return s.account.Command(s.Programs.Server, append(arguments(s.cfg, dataFile, runFile, redo, s.tmp), more...), env, s.files, &s.log, syscall.SIGKILL)
}

// bootstrap makes the data. They are nobody's yet: nothing of it is synced.
func (s *Server) bootstrap(ctx context.Context) error {
	cmd := s.command("--bootstrap", "--innodb-flush-method=nosync")
	cmd.Stdin = strings.NewReader(bootstrap)
	failed, err := kind.Run(ctx, cmd, s.account)
	if err != nil {
		return err
	}
	switch {
	case failed == nil:
		return nil
	case s.log.Full():
		return s.diskFull()
	}
	return fmt.Errorf("MariaDB could not make its data: %w%s", failed, s.log.LastWords())
}

func (s *Server) diskFull() error {
	where := s.cfg.Parent
	if s.cfg.LogDir != "" {
		where += " or " + s.cfg.LogDir
	}
	return fmt.Errorf("MariaDB's disk is full in %s: new data take about 100 MB, and its log %d MiB; make room, or choose other directories", where, max(s.cfg.LogBytes, 96<<20)>>20)
}

// start launches the server and waits until it takes connections.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, s.slow("start"))
	defer cancel()
	s.log.Reset()
	running, err := kind.Launch(s.command(), s.account, nil)
	if err != nil {
		return err
	}
	s.running = running
	for {
		if s.log.Contains("ready for connections") && s.tryConnect(ctx) == nil {
			return nil
		}
		select {
		case <-running.Done():
			if s.log.Full() {
				return s.diskFull()
			}
			return fmt.Errorf("MariaDB did not start%s", s.log.LastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) tryConnect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := s.Open()
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

// Open is a pool of connections, none of which is made yet.
func (s *Server) Open() (*sql.DB, error) {
	c, err := mysql.NewConnector(s.DriverConfig())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// MoveLog shuts the server down in good order, takes its redo log to a directory of ours
// in dir and starts it again: the same data with their log on another device. The
// server must have been started with a LogDir. When it fails the server may have ended,
// and Close is due.
func (s *Server) MoveLog(ctx context.Context, dir string) error {
	if s.redo == nil {
		return errors.New("the log is among the data")
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	to, file, err := kind.Move(s.redo, dir, logName, s.account)
	if err != nil {
		return err
	}
	from := s.redo
	s.files[2].Close()
	s.redo, s.files[2], s.cfg.LogDir = to, file, dir
	return errors.Join(from.Remove(), s.start(ctx))
}

// stop asks for a shutdown, which makes the data whole without the log.
func (s *Server) stop(ctx context.Context) error {
	return s.running.ShutDown(ctx, unix.SIGTERM, startLimit, s.Err, s.slow("shut down"))
}

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.running.Done() }

// Err is nil while the server runs, and afterwards says in one line how it ended.
func (s *Server) Err() error {
	if s.running.HasEnded() {
		return errors.New(s.running.HowItEnded(&s.log))
	}
	return nil
}

// CPU reads what the server's threads have used so far, those that have ended too.
func (s *Server) CPU() (Usage, error) {
	t, err := private.ProcessCPU(s.running.PID())
	if err != nil {
		if serr := s.Err(); serr != nil {
			return Usage{}, serr
		}
		return Usage{}, fmt.Errorf("CPU time of MariaDB: %w", err)
	}
	return Usage{All: t}, nil
}

// Dir is the directory of the data.
func (s *Server) Dir() string { return filepath.Join(s.place.Path, dataName) }

// SocketDir is where the socket lies, for other clients; its path may be too long for
// them. Our own connections do not use it.
func (s *Server) SocketDir() string { return filepath.Join(s.place.Path, runName) }

// socket is its path through the directory that we hold open.
func (s *Server) socket() string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", s.files[1].Fd(), socketName)
}

// PID is the server's.
func (s *Server) PID() int { return s.running.PID() }

// Close ends the server and removes everything. It may be called again. Nothing is
// written before: the files are removed.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if s.running != nil {
			s.running.End(stopLimit, unix.SIGKILL)
		}
		for _, f := range s.files {
			f.Close()
		}
		for _, p := range []*private.Place{s.place, s.redo, s.scratch} {
			if p != nil {
				s.closed = errors.Join(s.closed, p.Remove())
			}
		}
	})
	return s.closed
}
