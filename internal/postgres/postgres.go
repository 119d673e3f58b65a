// Package postgres runs a PostgreSQL server of our own for the time of an
// experiment: from the binaries that are installed, with a new cluster in a
// temporary directory, reached through a Unix socket only, and removed afterwards.
//
// The server never runs as root, which PostgreSQL refuses for good reason. Started by
// root it runs as the account "postgres", which the packages make for just this, or as
// "nobody" where there is none, without any other group. Started by anybody else it
// runs as that user. The cluster's directories belong to that account and nobody
// else can enter them, so that no password is needed and none exists.
//
// The server gets its directories as open files and names them /proc/self/fd/N. So
// they may lie below a directory that its account cannot enter, such as /root, and
// the path of the socket does not count against the 107 bytes that unix(7) allows.
//
// It takes Linux.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"hostlab/internal/private"
)

// Role is the cluster's only role, a superuser, and Database its database.
const (
	Role     = "hostlab"
	Database = "postgres"
	port     = "5432" // names the socket; nothing listens on the network
)

// Config says what server to start.
type Config struct {
	Parent   string            // an existing directory, in which the cluster gets one of its own; absolute
	WALDir   string            // the same for the write-ahead log; empty: it is part of the cluster
	Settings map[string]string // of postgresql.conf, beyond the defaults: shared_buffers -> 256MB
	Mark     string            // NAME=value for the environment of all its processes, by which others find them; may be empty
}

// own are the settings that keep the server private and easy to remove. Shared memory
// of parallel queries lies in files of the cluster (mmap), since POSIX segments
// would stay in /dev/shm when everything is killed.
func own(socketDir string) map[string]string {
	return map[string]string{
		"listen_addresses": "", "port": port, "unix_socket_directories": socketDir, "unix_socket_permissions": "0700",
		"dynamic_shared_memory_type": "mmap", "logging_collector": "off", "log_destination": "stderr", "log_line_prefix": "",
		"lc_messages": "C", "timezone": "UTC", "log_timezone": "UTC", "cluster_name": "hostlab", "restart_after_crash": "off",
	}
}

// arguments are those of postgres, in a fixed order. Ours come last, and so count.
func arguments(dataDir, socketDir string, settings map[string]string) []string {
	args := []string{"-D", dataDir}
	for _, list := range []map[string]string{settings, own(socketDir)} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			args = append(args, "-c", name+"="+list[name])
		}
	}
	return args
}

// Usage is CPU time of the server's processes.
type Usage = private.Usage

// Address is where a server is to be found by another process of ours, such as a
// worker, as long as the one that started it lives.
type Address struct {
	Socket  string // its path, of at most 107 bytes
	Service string // an empty service file
	Dir     string // of the socket, for messages
}

// Address is that of this server.
func (s *Server) Address() Address {
	return Address{Socket: s.socket(os.Getpid()), Service: s.serviceFile(), Dir: s.SocketDir()}
}

// ConnConfig is how to connect: see Address.ConnConfig.
func (s *Server) ConnConfig() (*pgx.ConnConfig, error) { return s.Address().ConnConfig() }

// ConnConfig is how to connect. Nothing of the environment (PGHOST, PGSERVICE,
// PGOPTIONS, ~/.pgpass and so on) takes part. A query whose context ends is
// cancelled in the server; the connection then remains usable if that answers
// within half a second.
func (a Address) ConnConfig() (*pgx.ConnConfig, error) {
	// A service file of our own, since the name in PGSERVICE cannot be taken back.
	cfg, err := pgx.ParseConfig(fmt.Sprintf("service=hostlab servicefile=%s host=/ port=%s user=%s dbname=%s sslmode=disable passfile=%s target_session_attrs=any connect_timeout=10",
		quote(a.Service), port, Role, Database, quote(os.DevNull)))
	if err != nil {
		return nil, err
	}
	cfg.Host, cfg.Password, cfg.RequireAuth, cfg.Fallbacks = a.Dir, "", "", nil
	cfg.RuntimeParams = map[string]string{"application_name": "hostlab"}
	address := a.Socket
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", address)
	}
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 500 * time.Millisecond}
	}
	return cfg, nil
}

// quote makes a value of a connection string.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// Connect opens a connection. Its errors have been through Explain.
func (s *Server) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := s.ConnConfig()
	if err != nil {
		return nil, err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	return c, s.Explain(ctx, err)
}

// Explain turns an error of a connection into what the user can do something about,
// in one line: the server has died, or its disk is full. A cancelled context's error
// comes before all others. nil stays nil.
func (s *Server) Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	ended := false
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		switch {
		case answer.Code == "53100": // disk_full
			return fmt.Errorf("PostgreSQL's disk is full: %s; make room, or use a directory elsewhere (%s)", answer.Message, s.Dir())
		case strings.HasPrefix(answer.Code, "57P0"): // crash_shutdown and the like, or a session that saw its postmaster die: the log has the cause
			ended = true
		case answer.Code == "53200":
			return fmt.Errorf("PostgreSQL is out of memory: %s; make the table smaller", answer.Message)
		default:
			return fmt.Errorf("PostgreSQL: %s (%s)", answer.Message, answer.Code)
		}
	}
	// A dead server comes before all that follows from it; its end may take a moment
	// longer than that of a connection.
	wait := time.Duration(0)
	if ended || broken(err) {
		wait = 2 * time.Second
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(wait):
	}
	switch {
	case ended:
		return fmt.Errorf("PostgreSQL: %s (%s)", answer.Message, answer.Code)
	case wait == 0:
		return err
	}
	return fmt.Errorf("the connection to PostgreSQL broke: %w%s", err, s.Log.LastWords())
}

// broken reports an error of the connection rather than of what was asked.
func broken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	// A connection that was found closed is "safe to retry": nothing was sent.
	return connecting || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE)
}
