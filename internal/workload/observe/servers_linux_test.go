//go:build system

package observe

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

func near(t *testing.T, what string, got, want, most float64) {
	t.Helper()
	t.Logf("%s: %.4g, independently %.4g", what, got, want)
	if !(math.Abs(got-want) <= most) {
		t.Errorf("%s: %.4g, independently %.4g", what, got, want)
	}
}

func startPostgres(t *testing.T) (s *privatedb.Server, dsn string) {
	t.Helper()
	s = testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL,
		privatedb.Config{Parent: t.TempDir(), Settings: map[string]string{"track_wal_io_timing": "on",
			"track_io_timing": "on", "autovacuum": "off"}}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s, "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"
}

// execute runs statements on a PostgreSQL.
func execute(t *testing.T, s *privatedb.Server, statements ...string) {
	t.Helper()
	c := testkit.Must(s.Connect(t.Context()))(t)
	defer c.Close(context.Background())
	for _, text := range statements {
		testkit.Must(c.Exec(t.Context(), text))(t)
	}
}

// pgbench runs a script until ctx ends.
func pgbench(t *testing.T, s *privatedb.Server, script string, args ...string) (stop func()) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	testkit.OK(t, os.WriteFile(name, []byte(script), 0o600))
	program := filepath.Join(filepath.Dir(s.Programs.Server), "pgbench")
	if more, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench"); len(more) > 0 { // Debian's wrappers are elsewhere
		program = more[len(more)-1]
	}
	cmd := exec.Command(program, append([]string{"-n", "-T", "600", "-h", s.SocketDir(), "-U", privatedb.Role, "-f", name},
		append(args, "postgres")...)...)
	testkit.OK(t, cmd.Start())
	ended := make(chan bool)
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() { _ = cmd.Process.Signal(syscall.SIGINT); <-ended }
	t.Cleanup(stop)
	return stop
}

// TestPostgres compares what a run sees with what the server's own counters and the kernel say.
func TestPostgres(t *testing.T) {
	s, dsn := startPostgres(t)
	execute(t, s, "create table t(a int)")
	run, r := openSession(t, map[string]any{"dsn": dsn, "for": "10s", "every": "2s"})
	stop := pgbench(t, s, "insert into t select generate_series(1, 20); select count(*) from generate_series(1, 2000);",
		"-c", "4", "-R", "400")
	c := testkit.Must(s.Connect(t.Context()))(t)
	defer c.Close(context.Background())
	working := func(text string, sessions int) {
		for n := 0; n < sessions; time.Sleep(50 * time.Millisecond) {
			testkit.OK(t,
				c.QueryRow(t.Context(),
					"select count(*) from pg_stat_activity where application_name = 'pgbench' and query like $1", text).Scan(&n))
		}
	}
	working("%series%", 4)
	transactions := func() (n float64) {
		testkit.OK(t,
			c.QueryRow(t.Context(),
				"select xact_commit + xact_rollback from pg_stat_database where datname = 'postgres'").Scan(&n))
		return n
	}
	var bins []workload.Bin
	r.Look = func(b workload.Bin) error { bins = append(bins, b); return nil }
	backend := ""
	for range 2 {
		bins = nil
		cpu, n, own, began := usedBy(t, s), transactions(), ownCPU(run), time.Now()
		here, _ := thread.ProcessCPU()
		got := testkit.Must(run.Run(t.Context(), r))(t)
		now, _ := thread.ProcessCPU()
		took, v := time.Since(began).Seconds(), got.Values
		cpu, n, own = usedBy(t, s)-cpu, transactions()-n, ownCPU(run)-own
		for _, name := range []string{"queue_s", "log_wait_per_transaction", "elapsed_per_transaction", "busy_s"} {
			if _, there := v[name]; !there {
				t.Errorf("no %s: %s", name, got.Missing[name])
			}
		}
		wall := v["transactions"] / v["transactions_per_s"]
		near(t, "wall, s", wall, took, 0.5+0.05*took)
		// sessions tell of theirs a second late, at both ends
		near(t, "transactions", v["transactions"], n*wall/took, 2.5*n/took)
		near(t, "cpu_s", v["cpu_s"], (cpu-own)*wall/took, 0.05*cpu+0.05)
		near(t, "cpu_per_transaction", v["cpu_per_transaction"], v["cpu_s"]/v["transactions"], 1e-9)
		cost := (own + (now - here).Seconds()) / took
		t.Logf("watching took %.2f %% of one CPU; elapsed %.3f s, busy %.3f s, log %.3f s, queue %.3f s", 100*cost,
			v["elapsed_s"], v["busy_s"], v["log_wait_s"], v["queue_s"])
		if cost > 0.02 { // below 0.01 where nothing else runs
			t.Errorf("watching took %.2f %% of one CPU", 100*cost)
		}
		var sum float64
		for _, b := range bins {
			sum += b.Values["transactions"]
		}
		near(t, "transactions of all looks", sum, v["transactions"], 0.5)
		if len(bins) < 4 || bins[len(bins)-1].At < 9*time.Second {
			t.Errorf("%d looks: %+v", len(bins), bins)
		}
		var pid string
		testkit.OK(t,
			c.QueryRow(t.Context(),
				"select string_agg(pid::text, ' ') from pg_stat_activity where application_name = 'hostlab' and pid <> pg_backend_pid()").Scan(&pid))
		if backend != "" && pid != backend {
			t.Errorf("the connection %s is another than before, %s", pid, backend)
		}
		backend = pid
	}
	stop()
	pgbench(t, s, "select pg_sleep(0.02);", "-c", "2")
	working("%sleep%", 2)
	r.Params.(*Params).For, r.Look = workload.Seconds(5), nil
	got := testkit.Must(run.Run(t.Context(), r))(t)
	if v := got.Values["elapsed_per_transaction"]; v < 0.018 || v > 0.2 { // whatever a busy host adds
		t.Errorf("a transaction of 20 ms takes %v s", v)
	}
	execute(t, s, "select pg_sleep(1)")
	time.AfterFunc(time.Second, func() { execute(t, s, "select pg_stat_reset()") })
	testkit.Refused(run.Run(t.Context(), r))(t, "the counters of PostgreSQL started again after ",
		"its counters were reset")
}

// TestPostgresKilled is a server that ends in the midst of a run, and one that is not there.
func TestPostgresKilled(t *testing.T) {
	s, dsn := startPostgres(t)
	run, r := openSession(t, map[string]any{"dsn": dsn, "for": "60s", "every": "1s"})
	time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(s.PID(), syscall.SIGKILL) })
	for _, want := range []string{fmt.Sprintf("PostgreSQL (process %d) has ended or was restarted after ", s.PID()),
		"parameter dsn: "} {
		if _, err := run.Run(t.Context(), r); err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("killed: %v", err)
		}
	}
}

// TestProcess is a program that is no database, and ends.
func TestProcess(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	run, r := openSession(t, map[string]any{"service": fmt.Sprintf("pid:%d", cmd.Process.Pid), "for": "4s", "every": "1s"})
	used := func() float64 {
		t.Helper()
		cpu := testkit.Must(proc.CPUTime(cmd.Process.Pid))(t)
		return cpu.Seconds()
	}
	cpu, began := used(), time.Now()
	here, _ := thread.ProcessCPU()
	got := testkit.Must(run.Run(t.Context(), r))(t)
	now, _ := thread.ProcessCPU()
	took, v := time.Since(began).Seconds(), got.Values
	near(t, "cpu_s", v["cpu_s"], used()-cpu, 0.1)
	near(t, "busy_s", v["busy_s"], took, 0.3) // it runs, or would like to
	t.Logf("watching took %.2f %% of one CPU", 100*(now-here).Seconds()/took)
	for _, name := range []string{"transactions", "cpu_per_transaction", "latency_p99", "log_wait_s"} {
		if got.Missing[name] == "" {
			t.Errorf("%s of a program without transactions: %v", name, v[name])
		}
	}
	time.AfterFunc(1500*time.Millisecond, func() { _ = cmd.Process.Kill() })
	for range 2 {
		if _, err := run.Run(t.Context(), r); err == nil || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
			t.Errorf("after its end: %v", err)
		}
		_ = cmd.Wait()
	}
}

// TestMariaDB compares what a run sees with what its clients did and the kernel counts.
func TestMariaDB(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { _ = s.Close() })
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	for _, text := range []string{"create database d", "create table d.t(a int)",
		"set global innodb_monitor_enable = 'trx_%commits'"} {
		testkit.Must(db.ExecContext(t.Context(), text))(t)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done atomic.Int64
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for range 3 {
		clients.Go(func() {
			for ctx.Err() == nil {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				_, err = tx.ExecContext(ctx, "insert into d.t select seq from d.seq_1_to_50")
				if err != nil || tx.Commit() != nil {
					return
				}
				done.Add(1)
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	run, r := openSession(t, map[string]any{"dsn": "mariadb://u@localhost/?socket=" +
		filepath.Join(s.SocketDir(), "mariadb.sock"), "for": "5s", "every": "1s"})
	for range 2 {
		cpu, n, began := usedBy(t, s), done.Load(), time.Now()
		before := ownCPU(run)
		got := testkit.Must(run.Run(t.Context(), r))(t)
		took, v := time.Since(began).Seconds(), got.Values
		own := ownCPU(run) - before
		t.Logf("missing %q, warnings %q", got.Missing, got.Warnings)
		wall := v["transactions"] / v["transactions_per_s"]
		near(t, "transactions", v["transactions"], float64(done.Load()-n)*wall/took, 0.1*v["transactions"])
		cpu = usedBy(t, s) - cpu - own
		near(t, "cpu_s", v["cpu_s"], cpu*wall/took, 0.05*cpu+0.05)
		t.Logf("own session %.3f s in %.1f s; elapsed %.3f s, busy %.3f, log %.3f, queue %.3f", own, took, v["elapsed_s"],
			v["busy_s"], v["log_wait_s"], v["queue_s"])
	}
	stop()
	clients.Wait()
	got, err := run.Run(t.Context(), r)
	if v := got.Values; err != nil || v["transactions"] >= fewest || v["cpu_s"] > 0.5 ||
		!strings.HasPrefix(got.Missing["cpu_per_transaction"], "the service did ") {
		t.Errorf("its load ended: %v, %+v", err, got)
	}
	t.Logf("without load: %v, missing %q", got.Values, got.Missing)
}

// usedBy is what the kernel counts of a server, s.
func usedBy(t *testing.T, s *privatedb.Server) float64 {
	t.Helper()
	u := testkit.Must(s.CPU())(t)
	return u.All.Seconds()
}

// ownCPU is what a session's own connection has used in the server, s.
func ownCPU(run workload.Session) float64 {
	used, _ := run.(*session).on.Source.(explain.Costed).OwnCPU()
	return used
}
