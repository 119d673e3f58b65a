//go:build system

package privatedb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

func TestServer(t *testing.T) {
	for name, value := range map[string]string{"PGHOST": "nowhere", "PGSERVICE": "none", "PGOPTIONS": "-c work_mem=1", "PGPASSWORD": "x", "PGTARGETSESSIONATTRS": "standby", "PGREQUIREAUTH": "scram-sha-256"} {
		t.Setenv(name, value) // none of them is for our server
	}
	dir, wal := closedDir(t), closedDir(t)
	s := start(t, PostgreSQL, Config{Parent: dir, LogDir: wal, Settings: map[string]string{"work_mem": "7MB"}, Mark: "MARK=1"})
	c := testkit.Must(s.Connect(t.Context()))(t)
	got := map[string]string{}
	for _, name := range []string{"work_mem", "listen_addresses", "unix_socket_permissions"} {
		var v string
		testkit.OK(t, c.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&v))
		got[name] = v
	}
	testkit.Same(t, map[string]string{"work_mem": "7MB", "listen_addresses": "", "unix_socket_permissions": "0700"}, got)
	segments, err := filepath.Glob(filepath.Join(wal, PostgreSQL.prefix+"*", "log", "0000*"))
	if err != nil || len(segments) == 0 {
		t.Errorf("no log in its directory: %v", err)
	}
	if env := environ(t, s.PID()); !strings.Contains(env, "MARK=1") || strings.Contains(env, "PGHOST") {
		t.Errorf("environment %q", env)
	}
	before := testkit.Must(s.CPU())(t)
	testkit.Must(c.Exec(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000)"))(t)
	after, err := s.CPU()
	pid := int(c.PgConn().PID())
	if err != nil || after.All <= before.All || after.Session[pid] <= before.Session[pid] {
		t.Errorf("CPU time %v, then %v; %v", before, after, err)
	}
	// A cancelled query ends in the server, and the connection lives on.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Exec(ctx, "SELECT pg_sleep(60)")
	if err = s.Explain(ctx, err); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := c.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("after it: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, dir, s.PID())
	gone(t, wal, s.PID())
}

// segments counts the System V segments that a process has made. A killed server leaves
// one. The fifth column of /proc/sysvipc/shm is the maker (ipc/shm.c in Linux).
func segments(t *testing.T, maker int) (n int) {
	t.Helper()
	b := testkit.Must(os.ReadFile("/proc/sysvipc/shm"))(t)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == strconv.Itoa(maker) {
			n++
		}
	}
	return n
}

// A server that is killed in a query fails that in one line, and leaves nothing.
func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	s := start(t, PostgreSQL, Config{Parent: dir})
	c, err := s.Connect(t.Context())
	testkit.OK(t, err)
	if err := s.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	pid := s.PID()
	testkit.Is(t, 1, segments(t, pid), "while it runs", "shared memory segments")
	time.AfterFunc(100*time.Millisecond, func() { _ = unix.Kill(pid, unix.SIGKILL) })
	_, err = c.Exec(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000000)")
	err = s.Explain(t.Context(), err)
	if err == nil || !strings.Contains(err.Error(), "signal 9 (SIGKILL)") || !strings.Contains(err.Error(), "last log line") || strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, dir, pid)
	testkit.Is(t, 0, segments(t, pid), "shared memory segments are left")
}

// When we are killed the server ends, and the next start removes its directory.
func TestParentKilled(t *testing.T) {
	top := t.TempDir()
	first, second := filepath.Join(top, "hostlab-1"), filepath.Join(top, "hostlab-2")
	for _, dir := range []string{first, second} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	pid := killParent(t, PostgreSQL, first)
	s := start(t, PostgreSQL, Config{Parent: second})
	if _, err := os.Stat(first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the killed one's directory: %v", err)
	}
	if alive(pid) {
		t.Errorf("its server %d still runs", pid)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, second, pid)
}

func TestBadStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	empty := t.TempDir()
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"no parent":  {Config{Parent: filepath.Join(file, "x")}, "cannot be made"},
		"no wal dir": {Config{Parent: empty, LogDir: "/proc/nowhere"}, "/proc/nowhere"},
		"setting":    {Config{Parent: empty, Settings: map[string]string{"no_such_setting": "1"}}, `unrecognized configuration parameter "no_such_setting"`},
		"memory":     {Config{Parent: empty, Settings: map[string]string{"shared_buffers": "64TB"}}, "did not start"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), PostgreSQL, c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, expected %q in one line", err, c.want)
			}
		})
	}
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if s, err := Start(ctx, PostgreSQL, Config{Parent: empty}); err == nil {
			s.Close() // a fast machine
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %v: %v", after, err)
		}
		cancel()
	}
	gone(t, empty, -1)
}

// The process of a connection that was closed is in no later reading.
func TestAwaitEnd(t *testing.T) {
	s := start(t, PostgreSQL, Config{Parent: t.TempDir()})
	for range 20 {
		c := testkit.Must(s.Connect(t.Context()))(t)
		pid := int(c.PgConn().PID())
		testkit.OK(t, c.Close(t.Context()))
		s.AwaitEnd(pid)
		u := testkit.Must(s.CPU())(t)
		if _, there := u.Session[pid]; there {
			t.Error("it is there still")
		}
	}
}
