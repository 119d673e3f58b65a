package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
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

// kind is how our clusters' directories are known. Accounts: PostgreSQL's packages make
// the first.
var kind = private.Kind{Product: "PostgreSQL", Prefix: "hostlab-postgres-", Accounts: []string{"postgres", "nobody"}, Leftover: leftover}

// Server is a running one. Close must be called.
type Server struct {
	private.Server
	Programs Programs
	cfg      Config
	meter    *private.Meter // of its processes; nil: it was not started yet
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
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.Prepare(kind, cfg.Parent, cfg.WALDir); err != nil {
		return nil, err
	}
	if err := s.Home.Write(serviceName, "[hostlab]\n"); err != nil {
		return nil, kind.CannotMake(cfg.Parent, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL's initdb did not end within %s; look for a full or very slow disk below %s", startLimit, cfg.Parent))
	defer cancel()
	if err := s.initdb(limited); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// program is one of PostgreSQL's.
func (s *Server) program(name string, args []string, death syscall.Signal) *exec.Cmd {
	env := []string{"PATH=" + s.Programs.Dir + ":/usr/bin:/bin"}
	if s.cfg.Mark != "" {
		env = append(env, s.cfg.Mark)
	}
	return s.Command(filepath.Join(s.Programs.Dir, name), args, env, death)
}

func (s *Server) initdb(ctx context.Context) error {
	args := []string{"-D", private.DataFile, "--no-sync", "--auth-local=trust", "--auth-host=reject", "-U", Role, "-E", "UTF8", "--locale=C"}
	if s.Logs != nil {
		args = append(args, "-X", private.LogFile)
	}
	return s.Run(ctx, s.program("initdb", args, syscall.SIGKILL), "PostgreSQL's initdb failed", s.diskFull)
}

// walParent is where the log's directory was made.
func (s *Server) walParent() string {
	if s.Logs == nil {
		return s.cfg.Parent
	}
	return filepath.Dir(s.Logs.Path)
}

func (s *Server) diskFull() error {
	if s.Logs != nil {
		return fmt.Errorf("PostgreSQL's disk is full in %s or %s: a new cluster takes about 40 MB in the first and 20 MB in the second, for its log; make room, or choose other directories", s.cfg.Parent, s.walParent())
	}
	return fmt.Errorf("PostgreSQL's disk is full: a new cluster takes about 60 MB in %s; make room, or choose another directory with TMPDIR, or of a study with --out", s.cfg.Parent)
}

// start launches the server of a cluster that there is, and waits for it. Should we die
// the postmaster gets SIGQUIT, an immediate shutdown: after SIGKILL its backends would
// first finish their queries.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL did not start within %s; look for a full or very slow disk below %s", startLimit, s.cfg.Parent))
	defer cancel()
	cmd := s.program("postgres", arguments(private.DataFile, private.RunFile, s.cfg.Settings), syscall.SIGQUIT)
	err := s.Launch(cmd, func() {
		// Without a postmaster its backends would go on until their query has ended.
		_ = s.EndInside() // Close tries again, and says so
	})
	if err != nil {
		return err
	}
	s.meter = &private.Meter{Server: s.PID()}
	return s.Ready(ctx, "ready to accept connections", s.tryConnect, s.diskFull)
}

func (s *Server) tryConnect(ctx context.Context) error {
	cfg, err := s.ConnConfig()
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	pid := int(c.PgConn().PID())
	if err := c.Close(ctx); err != nil {
		return err
	}
	s.AwaitEnd(pid)
	return nil
}

// AwaitEnd waits, but for no more than a second, until the process of a connection that
// was closed has ended: it does so somewhat later, and what is measured next would feel it.
func (s *Server) AwaitEnd(pid int) { private.WaitGone(s.PID(), pid) }

// Err is nil while the server runs, and afterwards says in one line how it ended.
func (s *Server) Err() error {
	if s.HasEnded() && s.Log.Full() && s.Log.Contains("pg_wal") { // it panics, since it cannot go on without a log
		return fmt.Errorf("PostgreSQL's log has no room left in %s: it keeps all that a run writes; make room, choose another directory for it, or write less%s", s.walParent(), s.Log.LastWords())
	}
	return s.Server.Err()
}

// CPU reads what the server's processes have used so far; sessions by the process that
// PostgreSQL tells as theirs. For two readings see Usage.Since.
func (s *Server) CPU() (Usage, error) {
	u, err := s.meter.Read()
	if err != nil {
		if serr := s.Err(); serr != nil {
			return u, serr
		}
		return u, fmt.Errorf("CPU time of PostgreSQL: %w", err)
	}
	return u, nil
}

const serviceName = "service.conf"

func (s *Server) serviceFile() string { return filepath.Join(s.Home.Path, serviceName) }

// socket is its path through the directory that process pid holds open, which is ours.
func (s *Server) socket(pid int) string {
	return fmt.Sprintf("/proc/%d/fd/%d/.s.PGSQL.%s", pid, s.SocketFD(), port)
}

// Close ends the server and removes everything. It may be called again. It asks for
// an immediate shutdown: a fast one would first write all of shared_buffers to the
// files that are then removed, and the next measurement would feel it.
func (s *Server) Close() error { return s.End(stopLimit, unix.SIGQUIT, unix.SIGKILL) }
