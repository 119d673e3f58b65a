//go:build system

package privatedb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// The server is private, its log lies where it was told, moves, and keeps what was
// committed; nothing is left.
func TestServerOfMariaDB(t *testing.T) {
	dir, first, second := closedDir(t), closedDir(t), closedDir(t)
	s := start(t, MariaDB, Config{Parent: dir, LogDir: first, Settings: map[string]string{"innodb_buffer_pool_size": "33554432"}, Mark: "MARK=1"})
	testkit.Has(t, environ(t, s.PID()), "MARK=1", "environment")
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	got := map[string]string{}
	for _, name := range []string{"skip_networking", "port", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit"} {
		var v string
		testkit.OK(t, db.QueryRow("SELECT @@GLOBAL."+name).Scan(&v))
		got[name] = v
	}
	testkit.Same(t, map[string]string{"skip_networking": "1", "port": "0", "innodb_buffer_pool_size": "33554432", "innodb_flush_log_at_trx_commit": "1"}, got)
	var tid int // takes a temporary table on disk
	if err := db.QueryRow("SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()").Scan(&tid); err != nil || tid == 0 {
		t.Errorf("thread %d, %v", tid, err)
	}
	before := testkit.Must(s.CPU())(t)
	testkit.Must(db.Exec("CREATE TABLE t (n INT PRIMARY KEY) SELECT seq n FROM seq_1_to_20000"))(t)
	testkit.Must(db.Exec("ANALYZE TABLE t"))(t)
	if after, err := s.CPU(); err != nil || after.All <= before.All {
		t.Errorf("CPU time %v, then %v; %v", before, after, err)
	}
	if logs, err := filepath.Glob(filepath.Join(first, MariaDB.prefix+"*", "log", "ib_logfile0")); err != nil || len(logs) != 1 {
		t.Errorf("no log in its directory: %v", err)
	}
	old := s.PID()
	testkit.OK(t, s.MoveLog(t.Context(), second))
	gone(t, first, old)
	if logs, err := filepath.Glob(filepath.Join(second, MariaDB.prefix+"*", "log", "ib_logfile0")); err != nil || len(logs) != 1 {
		t.Errorf("no log in its new directory: %v", err)
	}
	again := testkit.Must(s.Open())(t)
	defer again.Close()
	var n int
	if err := again.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 20000 {
		t.Errorf("%d rows after the move, %v", n, err)
	}
	if err := s.MoveLog(t.Context(), "/proc/nowhere"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("moved to nowhere: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, dir, s.PID())
	gone(t, second, s.PID())
	if _, err := os.Stat(s.temporary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its temporary directory: %v", err)
	}
}

// A server that is killed in a query fails that in one line, and leaves nothing.
func TestKilledInTheMiddleOfMariaDB(t *testing.T) {
	dir := t.TempDir()
	s := start(t, MariaDB, Config{Parent: dir})
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	time.AfterFunc(100*time.Millisecond, func() { _ = unix.Kill(s.PID(), unix.SIGKILL) })
	_, err := db.ExecContext(t.Context(), "SELECT sleep(60)")
	err = s.Explain(t.Context(), err)
	if err == nil || !strings.Contains(err.Error(), "signal 9 (SIGKILL)") || strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, dir, s.PID())
}

// When we are killed the server ends, and the next start removes its directory.
func TestParentKilledOfMariaDB(t *testing.T) {
	dir := t.TempDir()
	pid := killParent(t, MariaDB, dir)
	ends(t, pid)
	MariaDB.Sweep(dir)
	gone(t, dir, pid)
}

func TestBadStartsOfMariaDB(t *testing.T) {
	file, empty := filepath.Join(t.TempDir(), "file"), t.TempDir()
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"no parent":  {Config{Parent: filepath.Join(file, "x")}, "cannot be made"},
		"no log dir": {Config{Parent: empty, LogDir: "/proc/nowhere"}, "/proc/nowhere"},
		"setting":    {Config{Parent: empty, Settings: map[string]string{"no_such_setting": "1"}}, "unknown variable 'no-such-setting=1'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), MariaDB, c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, expected %q in one line", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if s, err := Start(ctx, MariaDB, Config{Parent: empty}); err == nil {
		s.Close() // a fast machine
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	gone(t, empty, -1)
}
