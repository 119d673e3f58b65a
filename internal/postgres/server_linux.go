package postgres

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

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"hostlab/internal/private"
)

// Limits on how long the server may take.
const (
	startLimit = 60 * time.Second // recovery is not needed, but a slow disk is
	stopLimit  = 6 * time.Second  // PostgreSQL itself gives its children five
)

// Names within a place, and the numbers that their open files have in the server.
const (
	dataName, runName, walName = "data", "run", "wal"

	dataFile, runFile, walFile = "/proc/self/fd/3", "/proc/self/fd/4", "/proc/self/fd/5"
)

// kind is how our clusters' directories are known. Accounts: PostgreSQL's packages make
// the first.
var kind = private.Kind{Product: "PostgreSQL", Prefix: "hostlab-postgres-", Accounts: []string{"postgres", "nobody"}, Data: dataName, Leftover: leftover}

// Server is a running one. Close must be called.
type Server struct {
	Programs Programs

	account private.Account
	place   *private.Place
	wal     *private.Place // nil: within the cluster
	files   []*os.File
	cfg     Config
	log     private.Tail

	running *private.Running // nil: it was not started yet
	closing sync.Once
	closed  error
}

// Start makes a cluster and starts its server. It first removes what servers of
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
	if cfg.WALDir != "" {
		kind.Sweep(cfg.WALDir)
	}
	defer func() {
		if err != nil {
			if cerr := s.Close(); cerr != nil {
				err = errors.Join(err, cerr)
			}
		}
	}()
	if err := s.directories(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL's initdb did not end within %s; look for a full or very slow disk below %s", startLimit, cfg.Parent))
	defer cancel()
	if err := s.initdb(limited); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

func (s *Server) directories() (err error) {
	if s.place, err = kind.NewPlace(s.cfg.Parent); err != nil {
		return err
	}
	if err := os.WriteFile(s.serviceFile(), []byte("[hostlab]\n"), 0o600); err != nil {
		return kind.CannotMake(s.cfg.Parent, err)
	}
	names := []string{dataName, runName}
	for _, name := range names {
		f, err := s.place.Sub(name, s.account)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
	}
	if s.cfg.WALDir == "" {
		return nil
	}
	if s.wal, err = kind.NewPlace(s.cfg.WALDir); err != nil {
		return err
	}
	f, err := s.wal.Sub(walName, s.account)
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	return nil
}

// command is one of PostgreSQL's programs.
func (s *Server) command(program string, args []string, death syscall.Signal) *exec.Cmd {
	env := []string{"PATH=" + s.Programs.Dir + ":/usr/bin:/bin"}
	if s.cfg.Mark != "" {
		env = append(env, s.cfg.Mark)
	}
	return s.account.Command(filepath.Join(s.Programs.Dir, program), args, env, s.files, &s.log, death)
}

func (s *Server) initdb(ctx context.Context) error {
	args := []string{"-D", dataFile, "--no-sync", "--auth-local=trust", "--auth-host=reject", "-U", Role, "-E", "UTF8", "--locale=C"}
	if s.wal != nil {
		args = append(args, "-X", walFile)
	}
	cmd := s.command("initdb", args, syscall.SIGKILL)
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
	return fmt.Errorf("PostgreSQL's initdb failed: %w%s", failed, s.log.LastWords())
}

// walParent is where the log's directory was made.
func (s *Server) walParent() string {
	if s.wal == nil {
		return s.cfg.Parent
	}
	return filepath.Dir(s.wal.Path)
}

func (s *Server) diskFull() error {
	if s.wal != nil {
		return fmt.Errorf("PostgreSQL's disk is full in %s or %s: a new cluster takes about 40 MB in the first and 20 MB in the second, for its log; make room, or choose other directories", s.cfg.Parent, s.walParent())
	}
	return fmt.Errorf("PostgreSQL's disk is full: a new cluster takes about 60 MB in %s; make room, or choose another directory with --out, or TMPDIR", s.cfg.Parent)
}

// launch starts the postmaster. Should we die it gets SIGQUIT, an immediate
// shutdown: after SIGKILL its backends would first finish their queries.
func (s *Server) launch() error {
	s.log.Reset()
	cmd := s.command("postgres", arguments(dataFile, runFile, s.cfg.Settings), syscall.SIGQUIT)
	running, err := kind.Launch(cmd, s.account, func() {
		// Without a postmaster its backends would go on until their query has ended.
		_ = kind.EndInside(s.Dir()) // Close tries again, and says so
	})
	if err != nil {
		return err
	}
	s.running = running
	return nil
}

// ready waits until the server takes connections.
func (s *Server) ready(ctx context.Context) error {
	for {
		// Asked earlier it would log that it is starting up, as an error.
		if s.log.Contains("ready to accept connections") && s.tryConnect(ctx) == nil {
			return nil
		}
		select {
		case <-s.running.Done():
			if s.log.Full() {
				return s.diskFull()
			}
			return fmt.Errorf("PostgreSQL did not start%s", s.log.LastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tryConnect connects once.
func (s *Server) tryConnect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cfg, err := s.ConnConfig()
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.running.Done() }

// Err is nil while the server runs, and afterwards says in one line how it ended.
func (s *Server) Err() error {
	if !s.running.HasEnded() {
		return nil
	}
	if s.log.Full() && s.log.Contains("pg_wal") { // it panics, since it cannot go on without a log
		return fmt.Errorf("PostgreSQL's log has no room left in %s: it keeps all that a run writes; make room, choose another directory for it, or write less%s", s.walParent(), s.log.LastWords())
	}
	return errors.New(s.running.HowItEnded(&s.log))
}

// CPU reads what the server's processes have used so far; sessions by the process that
// PostgreSQL tells as theirs.
func (s *Server) CPU() (Usage, error) {
	u, err := private.CPU(s.running.PID())
	if err != nil {
		if serr := s.Err(); serr != nil {
			return u, serr
		}
		return u, fmt.Errorf("CPU time of PostgreSQL: %w", err)
	}
	return u, nil
}

// Dir is the directory of the cluster.
func (s *Server) Dir() string { return filepath.Join(s.place.Path, dataName) }

// SocketDir is where the socket lies, for other clients' --host. Those may find its
// path too long; our own connections do not use it.
func (s *Server) SocketDir() string { return filepath.Join(s.place.Path, runName) }

func (s *Server) serviceFile() string { return filepath.Join(s.place.Path, "service.conf") }

// socket is its path through the directory that process pid holds open, which is ours.
func (s *Server) socket(pid int) string {
	return fmt.Sprintf("/proc/%d/fd/%d/.s.PGSQL.%s", pid, s.files[1].Fd(), port)
}

// PID is the postmaster's.
func (s *Server) PID() int { return s.running.PID() }

// Close ends the server and removes everything. It may be called again. It asks for
// an immediate shutdown: a fast one would first write all of shared_buffers to the
// files that are then removed, and the next measurement would feel it.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if s.running != nil {
			s.running.End(stopLimit, unix.SIGQUIT, unix.SIGKILL)
		}
		for _, f := range s.files {
			f.Close()
		}
		for _, p := range []*private.Place{s.place, s.wal} {
			if p != nil {
				s.closed = errors.Join(s.closed, p.Remove())
			}
		}
	})
	return s.closed
}
