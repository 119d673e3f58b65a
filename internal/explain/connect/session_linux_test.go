//go:build system

package connect

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/explain"
	"hostlab/internal/explain/pgbouncer"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestPooler: behind pgbouncer, which refuses or drops what a session asks for and gives each transaction to any
// connection, hostlab's questions read only and have their limits all the same. Nothing of them stays in the pool's
// connection, so that whoever comes next finds it as it was, a second run too.
func TestPooler(t *testing.T) {
	testkit.Root(t)
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { s.Close() })
	sockets := testkit.Must(os.Open(s.SocketDir()))(t) // in which the pooler gets by no name
	t.Cleanup(func() { sockets.Close() })
	info := testkit.Must(sockets.Stat())(t)
	owner := info.Sys().(*syscall.Stat_t)
	for _, c := range []struct{ mode, ignore string }{
		{"transaction",
			"extra_float_digits, options, lock_timeout, statement_timeout, default_transaction_read_only, idle_in_transaction_session_timeout, jit, max_parallel_workers_per_gather"},
		{"transaction", "extra_float_digits"},
		{"session", "extra_float_digits"},
	} {
		t.Run(c.mode+" "+strconv.Itoa(len(c.ignore)), func(t *testing.T) {
			t.Parallel()
			dir := testkit.Must(os.MkdirTemp("/tmp", "hostlab-pooler-"))(t)
			t.Cleanup(func() { os.RemoveAll(dir) })
			ini := filepath.Join(dir, "ini")
			text := fmt.Sprintf("[databases]\n* = host=/proc/self/fd/3 port=5432 user="+privatedb.Role+
				"\n[pgbouncer]\nlisten_addr=\nunix_socket_dir=%s\nlisten_port=6432\nauth_type=any\nauth_file=/dev/null\npool_mode=%s\nignore_startup_parameters=%s\n"+
				"default_pool_size=1\nserver_reset_query=\n", dir, c.mode, c.ignore)
			testkit.OK(t, os.WriteFile(ini, []byte(text), 0o644))
			testkit.OK(t, os.Chown(dir, int(owner.Uid), int(owner.Gid)))
			pooler := exec.Command("pgbouncer", "-q", ini)
			pooler.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
			pooler.Stderr, pooler.ExtraFiles = os.Stderr, []*os.File{sockets}
			testkit.Start(t, pooler)
			for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
				if conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432")); err == nil {
					conn.Close()
					break
				}
				if time.Since(began) > time.Minute {
					t.Fatal("pgbouncer does not listen")
				}
			}
			d := testkit.Must(Parse("host=" + dir + " port=6432 user=" + privatedb.Role + " dbname=postgres"))(t)
			console := testkit.Must(Console(t.Context(), pooler.Process.Pid))(t)
			defer console.Close()
			for run := range 2 {
				src, err := Open(t.Context(), d)
				if err != nil {
					t.Fatalf("run %d: %v", run, err)
				}
				for range 3 {
					if _, err := src.Sample(t.Context()); err != nil {
						t.Errorf("run %d: %v", run, err)
					}
					if _, err := src.Count(t.Context()); err != nil {
						t.Errorf("run %d: %v", run, err)
					}
				}
				testkit.Has(t, fmt.Sprint(src.Server().Missing), "a pooler such as pgbouncer", "missing")
				src.Close()
			}
			a := testkit.Must(Session(t.Context(), d))(t)
			for sql, want := range map[string]string{"create table x (a int)": "25006", "select pg_sleep(60)": "57014"} {
				testkit.Refused(a.Ask(t.Context(), explain.Query{Name: "q", SQL: sql}))(t, want, sql)
			}
			a.Close()
			left, err := exec.Command("psql", "-X", "-A", "-t", "-h", dir, "-p", "6432", "-U", privatedb.Role, "-d",
				"postgres", "-c",
				"select (select count(*) from pg_prepared_statements), current_setting('statement_timeout'), current_setting('default_transaction_read_only'), current_setting('lock_timeout')").CombinedOutput()
			if got := strings.TrimSpace(string(left)); err != nil || got != "0|0|off|0" {
				t.Errorf("the pool's connection has %q, %v", got, err)
			}
			if _, err := OpenParameter(t.Context(), d, "work_mem"); err == nil ||
				!strings.Contains(err.Error(), "connect to the server itself") {
				t.Errorf("a parameter through a pooler: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			seen, err := pgbouncer.Watch(ctx, console, pooler.Process.Pid)
			one := func(p pgbouncer.Pool) bool {
				return p.Database == "postgres" && p.Slots == 1 && p.File == ini && p.Pooler == pooler.Process.Pid && p.Looks > 0
			}
			if err != nil || !slices.ContainsFunc(seen.Pools, one) || len(seen.Servers) == 0 {
				t.Errorf("the console shows %+v, %v", seen, err)
			}
		})
	}
}

// TestUntoldState: where a database keeps its sessions' states to itself, what they do between statements is not
// known by questions, and the application has none of that time. The server's memory shows the states: the same load is
// idle then.
func TestUntoldState(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	defer s.Close()
	for name, c := range map[string]struct{ hidden, asked bool }{"told": {}, "untold": {true, true},
		"seen": {true, false}} {
		mute := s.Programs.Major < 14 // it keeps no waits either
		hidden := c.hidden && (c.asked || mute)
		admin := testkit.Must(s.Connect(t.Context()))(t)
		setting := "on"
		if c.hidden {
			setting = "off"
		}
		for _, sql := range []string{"drop database if exists t1", "create database t1",
			"alter database t1 set track_activities = " + setting} {
			testkit.Must(admin.Exec(t.Context(), sql))(t)
		}
		admin.Close(t.Context())
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 3 {
			c := testkit.Must(pgx.Connect(t.Context(), "host="+s.SocketDir()+" user="+privatedb.Role+" dbname=t1"))(t)
			work.Go(func() {
				defer c.Close(context.Background())
				for ctx.Err() == nil {
					if _, err := c.Exec(context.Background(), "select 1"); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		d := testkit.Must(Parse("host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"))(t)
		src := testkit.Must(Open(t.Context(), d))(t)
		r := testkit.Must(explain.Record(t.Context(), src, explain.Options{For: 3 * time.Second,
			Interval: map[bool]time.Duration{true: 20 * time.Millisecond}[c.asked]}))(t)
		src.Close()
		stop()
		work.Wait()
		missing := strings.Join(r.Missing, "; ")
		if app := r.Part(explain.Application).Share.Value; app > 0.05 {
			t.Errorf("%s: the application has %.2f of the time", name, app)
		}
		unknown, said := r.Part(explain.Unexplained).Share.Value, strings.Contains(missing,
			"track_activities is off for their role or database")
		if hidden != said || hidden != (unknown > 0.5) || (hidden && !mute) != (r.Untold > 0) {
			t.Errorf("%s: %.2f of the time is unexplained; missing: %s", name, unknown, missing)
		}
	}
}

// TestThreadPool: a MariaDB whose threads serve one session after the other tells no thread of a session. Its process
// is that of its socket all the same, or over loopback the one that holds it.
func TestThreadPool(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir(), LogBytes: 8 << 20,
		Settings: map[string]string{"thread_handling": "pool-of-threads"}}))(t)
	defer s.Close()
	d := testkit.Must(Parse("mysql://u@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"))(t)
	src := testkit.Must(Open(t.Context(), d))(t)
	defer src.Close()
	h, ok := src.(explain.Hosted)
	if !ok {
		t.Fatal("it knows no processes")
	}
	if pid, _, known := h.Process(); !known || pid != s.PID() {
		t.Errorf("its process is %d (%v), not %d", pid, known, s.PID())
	}
	r := testkit.Must(explain.Record(t.Context(), src, explain.Options{For: time.Second}))(t)
	testkit.Has(t, strings.Join(r.Missing, "; "), "thread_handling is pool-of-threads", "missing")
}
