//go:build linux && amd64 && system

// Package servers tries hostlab on live database servers of several versions: by default on the oldest and the newest
// of PostgreSQL and on the newest MariaDB, with LAB=all on all.
//
// All runs among processes of its own, so that no other database of this host is busier.
package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// version is a server to try.
type version struct {
	name     string // of ../servers.sh; "": this host's own package
	settings map[string]string
	always   bool
}

var versions = []version{
	{"postgres-13", nil, true},
	{"postgres-14", nil, false},
	{"postgres-15", nil, false},
	{"postgres-16", nil, false},
	{"postgres-17", nil, false},
	{"postgres-18", map[string]string{"io_method": "worker"}, true},
	{"postgres-18-debian", ring(), false},
	{"", nil, false},
	{"mariadb-11.8", nil, true},
}

// ring has PostgreSQL 18 read by io_uring where this kernel lets it.
func ring() map[string]string {
	if b, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled"); err == nil && strings.TrimSpace(string(b)) == "0" {
		return map[string]string{"io_method": "io_uring"}
	}
	return map[string]string{"io_method": "sync"}
}

// apart is set where we are the first process of a namespace.
const apart = "HOSTLAB_SERVERS_APART"

// bin has hostlab and the tests of packages that servers are tried with.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv(apart) == "" {
		args := append([]string{"--pid", "--mount", "--fork", "--mount-proc", "--kill-child", os.Args[0]}, os.Args[1:]...)
		cmd := exec.Command("unshare", args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), apart+"=1"), os.Stdout, os.Stderr
		signal.Ignore(os.Interrupt)
		err := cmd.Run()
		if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
			fmt.Fprintln(os.Stderr, "namespaces of processes take root and unshare:", err)
			os.Exit(1)
		}
		os.Exit(cmd.ProcessState.ExitCode())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("/var/tmp", "hostlab-servers-"); err == nil {
		defer os.RemoveAll(bin)
		err = os.Chmod(bin, 0o755) //nolint:gosec // servers' accounts run it
	}
	for name, args := range map[string][]string{
		"hostlab":       {"build", "../../cmd/hostlab"},
		"postgres.test": {"test", "-c", "-vet=off", "-tags=system", "../../internal/explain/postgres"},
	} {
		last := len(args) - 1
		args = append(slices.Clone(args[:last]), "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(bin, name), args[last])
		if err == nil {
			var out []byte
			if out, err = exec.Command("go", args...).CombinedOutput(); err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func TestServers(t *testing.T) {
	all := os.Getenv("LAB") == "all"
	for _, v := range versions {
		if !all && !v.always {
			continue
		}
		name := v.name
		if name == "" {
			name = "mariadb"
		}
		t.Run(name, func(t *testing.T) {
			began, used := time.Now(), proc.Own()
			t.Cleanup(func() { t.Logf("%.0f s, %.0f s of CPU", time.Since(began).Seconds(), proc.Own()-used) })
			s := start(t, v)
			t.Logf("%s %s", s.vendor.Product, s.Programs.Version)
			if s.vendor == privatedb.PostgreSQL {
				t.Run("waits", s.names)
			}
			stop := s.load(t)
			t.Run("assess", s.assess)
			t.Run("live", s.live)
			stop()
			t.Run("log", s.log)
		})
	}
}

// server is one that runs.
type server struct {
	*privatedb.Server
	vendor *privatedb.Vendor
	dir    string
	db     *sql.DB
}

func start(t *testing.T, v version) *server {
	t.Helper()
	s := &server{vendor: privatedb.PostgreSQL}
	if !strings.HasPrefix(v.name, "postgres") {
		s.vendor = privatedb.MariaDB
	}
	if v.name != "" {
		if out, err := exec.Command("../servers.sh", v.name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		programs := testkit.Must(filepath.Abs("../dl/servers/" + v.name + "/bin"))(t)
		t.Setenv("HOSTLAB_PG_BIN", programs)
		t.Setenv("PATH", programs+":"+os.Getenv("PATH")) // for MariaDB
	}
	var err error
	if s.dir, err = os.MkdirTemp("/var/tmp", "hs-"); err != nil { // a socket's path takes 107 bytes
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // the server's account works there
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(s.dir, "state"))
	settings := map[string]string{}
	if s.vendor == privatedb.PostgreSQL {
		settings = map[string]string{"track_io_timing": "on", "track_wal_io_timing": "on", "autovacuum": "off"}
	}
	maps.Copy(settings, v.settings)
	config := privatedb.Config{Parent: s.dir, Settings: settings, LogBytes: 16 << 20}
	if s.Server, err = privatedb.Start(t.Context(), s.vendor, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if s.db, err = s.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

func (s *server) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := s.db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// dsn is where hostlab finds the server.
func (s *server) dsn() string {
	if s.vendor == privatedb.PostgreSQL {
		return "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=" + privatedb.Postgres
	}
	return "mariadb://hostlab@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"
}

// load has clients work until they are stopped: of PostgreSQL Debian's pgbench. They leave CPUs to other tests.
func (s *server) load(t *testing.T) (stop func()) {
	t.Helper()
	if s.vendor == privatedb.PostgreSQL {
		s.exec(t, "create role postgres superuser login") // who assess logs in as
		pgbench := func(args ...string) *exec.Cmd {
			args = append(args, "-h", s.SocketDir(), "-p", "5432", "-U", privatedb.Role, privatedb.Postgres)
			return exec.Command("pgbench", args...)
		}
		if out, err := pgbench("-i", "-q", "-s", "2").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		clients := pgbench("-n", "-c", "4", "-R", "200", "-T", "3600")
		testkit.OK(t, clients.Start())
		stop = sync.OnceFunc(func() { _ = clients.Process.Kill(); _ = clients.Wait() })
		t.Cleanup(stop)
		return stop
	}
	s.exec(t, "create table work (id int primary key auto_increment, n int, text varchar(200))")
	for i := range 100 {
		s.exec(t, fmt.Sprintf("insert into work (n, text) values (%d, repeat('x', 200))", i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := c; ctx.Err() == nil; i += 7 {
				_, _ = s.db.ExecContext(ctx, fmt.Sprintf("update work set n = n + 1 where id = %d", 1+i%100))
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); clients.Wait() })
	t.Cleanup(stop)
	return stop
}

// hostlab runs the program, as another user where that is given.
func (s *server) hostlab(t *testing.T, as *syscall.Credential, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "hostlab"), args...)
	cmd.Dir, cmd.Cancel, cmd.WaitDelay = s.dir, func() error { return cmd.Process.Signal(os.Interrupt) }, 20*time.Second
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Env = append(os.Environ(), "HOME=/nonexistent", "XDG_STATE_HOME=/nonexistent")
	}
	var text, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &errs
	if err := cmd.Run(); err != nil {
		return text.String(), fmt.Errorf("hostlab %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return text.String(), nil
}
