package privatedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"hostlab/internal/lazyre"
)

// Role is the cluster's only role, a superuser, and Postgres the database that is always
// there.
const (
	Role     = "hostlab"
	Postgres = "postgres"
	pgPort   = "5432" // names the socket; nothing listens on the network
)

// PostgreSQL is the vendor.
//
// 12 is the first version that has all of the settings that this package and its users set
// (plan_cache_mode and jit are older; 12 ended its support in 2024). Places are Debian's,
// then those of PGDG and Red Hat, SUSE, and builds from source.
//
// An end is an immediate shutdown: a fast one would first write all of shared_buffers to
// files that are then removed, and the next measurement would feel it.
var PostgreSQL = &Vendor{
	Name: "postgres", Product: "PostgreSQL",
	servers: []string{"postgres"}, needs: []string{"initdb"}, versionArgs: []string{"--version"},
	version: lazyre.New(`\(PostgreSQL\) ((\d+)(?:\.(\d+))?\S*)`),
	places: []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin",
		"/usr/local/pgsql/bin"},
	variable: "HOSTLAB_PG_BIN", oldest: [2]int{12, 0},
	install: "install PostgreSQL's server, such as the package postgresql (Debian, Ubuntu) or postgresql-server (Red Hat, SUSE), " +
		"or say where its initdb and postgres are with HOSTLAB_PG_BIN=DIR",
	prefix: "hostlab-postgres-", accounts: []string{"postgres", "nobody"}, leftover: segmentOf,
	prepare: writeService, create: initdb, serve: postmaster,
	connector: func(s *Server) (driver.Connector, error) { return s.Address().connector() },
	takes: func(s *Server) string {
		if s.separateLog() {
			return "a new cluster takes about 40 MB in the first and 20 MB in the second, for its log"
		}
		return "a new cluster takes about 60 MB"
	},
	ready: "ready to accept connections", stop: syscall.SIGINT, end: []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL},
	forks: true, logName: "pg_wal",
	answer: pgAnswer, broken: pgBroken,
}

func initdb(s *Server) *exec.Cmd {
	args := []string{"-D", dataFile, "--no-sync", "--auth-local=trust", "--auth-host=reject", "-U", Role, "-E", "UTF8",
		"--locale=C"}
	if s.separateLog() {
		args = append(args, "-X", logFile)
	}
	return s.command("initdb", args, syscall.SIGKILL)
}

// postmaster gets SIGQUIT, an immediate shutdown, when we die: after SIGKILL its backends
// would first finish their queries.
func postmaster(s *Server) *exec.Cmd {
	return s.command("postgres", pgArguments(s.Programs.Major, s.cfg.Settings), syscall.SIGQUIT)
}

// since are the versions that brought settings without which a server measures less.
var since = map[string]int{"track_wal_io_timing": 14}

// pgArguments returns those of postgres, in a fixed order. Ours come last, and so count:
// they keep the server private and easy to remove. Shared memory of parallel queries lies
// in files of the cluster (mmap), since POSIX segments would stay in /dev/shm when
// everything is killed.
func pgArguments(major int, settings map[string]string) []string {
	ours := map[string]string{
		"listen_addresses": "", "port": pgPort, "unix_socket_directories": runFile, "unix_socket_permissions": "0700",
		"dynamic_shared_memory_type": "mmap", "logging_collector": "off", "log_destination": "stderr", "log_line_prefix": "",
		"lc_messages": "C", "timezone": "UTC", "log_timezone": "UTC", "cluster_name": "hostlab", "restart_after_crash": "off",
	}
	args := []string{"-D", dataFile}
	for _, list := range []map[string]string{settings, ours} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if major >= since[name] {
				args = append(args, "-c", name+"="+list[name])
			}
		}
	}
	return args
}

// Address is where a PostgreSQL is to be found by another process of ours, such as a
// worker, as long as the one that started it lives.
type Address struct {
	Socket  string // its path, of at most 107 bytes
	Service string // an empty service file
	Dir     string // of the socket, for messages
	PID     int    // of the postmaster
}

// Address returns that of a PostgreSQL.
func (s *Server) Address() Address {
	return Address{Socket: s.socket(".s.PGSQL." + pgPort), Service: filepath.Join(s.home(), serviceName),
		Dir: s.SocketDir(),
		PID: s.PID()}
}

const serviceName = "service.conf"

// ConnConfig returns how to connect. Nothing of the environment (PGHOST, PGSERVICE,
// PGOPTIONS, ~/.pgpass and so on) takes part. A query whose context ends is cancelled in
// the server; the connection then remains usable if that answers within half a second.
func (a Address) ConnConfig() (*pgx.ConnConfig, error) {
	// A service file of our own, since the name in PGSERVICE cannot be taken back.
	cfg, err := pgx.ParseConfig(fmt.Sprintf(
		"service=hostlab servicefile=%s host=/ port=%s user=%s dbname=%s sslmode=disable "+
			"passfile=%s target_session_attrs=any connect_timeout=10",
		quote(a.Service), pgPort, Role, Postgres, quote(os.DevNull)))
	if err != nil {
		return nil, err
	}
	cfg.Host, cfg.Password, cfg.RequireAuth, cfg.Fallbacks = a.Dir, "", "", nil
	cfg.RuntimeParams = map[string]string{"application_name": "hostlab"}
	cfg.DialFunc = dial(a.Socket)
	cfg.BuildContextWatcherHandler = CancelQueries
	return cfg, nil
}

// Open returns a pool of connections, none of which is made yet.
func (a Address) Open() (*sql.DB, error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

func (a Address) connector() (driver.Connector, error) {
	cfg, err := a.ConnConfig()
	if err != nil {
		return nil, err
	}
	return stdlib.GetConnector(*cfg), nil
}

// CancelQueries has the server cancel a query whose context ends.
func CancelQueries(c *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 500 * time.Millisecond}
}

// dial connects to a socket, whatever address a driver has.
func dial(socket string) func(ctx context.Context, _, _ string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
}

// quote makes a value of a connection string.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// Connect opens a connection to a PostgreSQL. Its errors have been through Explain.
func (s *Server) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := s.Address().ConnConfig()
	if err != nil {
		return nil, err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	return c, s.Explain(ctx, err)
}

func pgAnswer(err error, where string) (said error, ending bool) {
	a, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return nil, false
	case a.Code == "53100": // disk_full
		return diskFull("PostgreSQL", a.Message, where), false
	case a.Code == "53200": // out_of_memory
		return fmt.Errorf("PostgreSQL is out of memory: %s; make the table smaller", a.Message), false
	}
	// crash_shutdown and the like, or a session that saw its postmaster die: the log has the
	// cause.
	return fmt.Errorf("PostgreSQL: %s (%s)", a.Message, a.Code), strings.HasPrefix(a.Code, "57P0")
}

func pgBroken(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	// A connection that was found closed is "safe to retry": nothing was sent.
	return connecting || pgconn.SafeToRetry(err) || brokenPipe(err)
}

// brokenPipe reports an error of a connection of any vendor.
func brokenPipe(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}
