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
	"syscall"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"

	"hostlab/internal/private"
)

// kind is how our directories are known. Accounts: MariaDB's packages make the first.
var kind = private.Kind{Product: "MariaDB", Prefix: "hostlab-mariadb-", Accounts: []string{"mysql", "nobody"}}

// Server is a running one. Close must be called.
type Server struct {
	private.Server
	Programs Programs
	cfg      Config
	tmp      string // directory of temporary tables
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
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.Prepare(kind, cfg.Parent, cfg.LogDir); err != nil {
		return nil, err
	}
	if err := s.temporary(); err != nil {
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

// temporary has a directory to which the server's account can walk by name.
func (s *Server) temporary() (err error) {
	in := s.Home
	if s.Account.Other {
		parents := []string{s.cfg.Parent, os.TempDir(), "/tmp", "/var/tmp"}
		i := slices.IndexFunc(parents, open)
		if i < 0 {
			return fmt.Errorf("MariaDB runs as %s here, and can enter neither %s nor /tmp for its temporary tables; set TMPDIR to a directory that all may enter", s.Account.Name, s.cfg.Parent)
		}
		kind.Sweep(parents[i])
		if in, err = kind.NewPlace(parents[i]); err != nil {
			return err
		}
		s.More = append(s.More, in)
		if err := in.LetThrough(); err != nil {
			return kind.CannotMake(parents[i], err)
		}
	}
	const name = "tmp"
	f, err := in.Sub(name, s.Account)
	if err != nil {
		return err
	}
	s.tmp = filepath.Join(in.Path, name)
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

// program is the server's, which is also what makes the data.
func (s *Server) program(more ...string) *exec.Cmd {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if s.cfg.Mark != "" {
		env = append(env, s.cfg.Mark)
	}
	redo := private.DataFile
	if s.Logs != nil {
		redo = private.LogFile
	}
	return s.Command(s.Programs.Server, append(arguments(s.cfg, private.DataFile, private.RunFile, redo, s.tmp), more...), env, syscall.SIGKILL)
}

// bootstrap makes the data. They are nobody's yet: nothing of it is synced.
func (s *Server) bootstrap(ctx context.Context) error {
	cmd := s.program("--bootstrap", "--innodb-flush-method=nosync")
	cmd.Stdin = strings.NewReader(bootstrap)
	return s.Run(ctx, cmd, "MariaDB could not make its data", s.diskFull)
}

func (s *Server) diskFull() error {
	where := s.cfg.Parent
	if s.Logs != nil {
		where += " or " + filepath.Dir(s.Logs.Path)
	}
	return fmt.Errorf("MariaDB's disk is full in %s: new data take about 100 MB, and its log %d MiB; make room, or choose other directories", where, max(s.cfg.LogBytes, 96<<20)>>20)
}

// start launches the server and waits until it takes connections.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, s.slow("start"))
	defer cancel()
	if err := s.Launch(s.program(), nil); err != nil {
		return err
	}
	return s.Ready(ctx, "ready for connections", s.tryConnect, s.diskFull)
}

func (s *Server) tryConnect(ctx context.Context) error {
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
	return s.Move(ctx, dir, s.stop, s.start)
}

// stop asks for a shutdown, which makes the data whole without the log.
func (s *Server) stop(ctx context.Context) error {
	return s.ShutDown(ctx, unix.SIGTERM, startLimit, s.Err, s.slow("shut down"))
}

// CPU reads what the server's threads have used so far, those that have ended too.
func (s *Server) CPU() (Usage, error) {
	t, err := private.ProcessCPU(s.PID())
	if err != nil {
		if serr := s.Err(); serr != nil {
			return Usage{}, serr
		}
		return Usage{}, fmt.Errorf("CPU time of MariaDB: %w", err)
	}
	return Usage{All: t}, nil
}

// socket is its path through the directory that we hold open.
func (s *Server) socket() string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", s.SocketFD(), socketName)
}

// Close ends the server and removes everything. It may be called again. Nothing is
// written before: the files are removed.
func (s *Server) Close() error { return s.End(stopLimit, unix.SIGKILL) }
