//go:build system

package observe

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/workload"
)

func open(t *testing.T, given map[string]any) (workload.Session, workload.Request) {
	t.Helper()
	v, err := workload.Check(Workload{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: t.TempDir(), Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, workload.Request{Params: v}
}

func near(t *testing.T, what string, got, want, most float64) {
	t.Helper()
	t.Logf("%s: %.4g, independently %.4g", what, got, want)
	if !(math.Abs(got-want) <= most) {
		t.Errorf("%s: %.4g, independently %.4g", what, got, want)
	}
}

func startPostgres(t *testing.T, settings map[string]string) (s *privatedb.Server, dsn string) {
	t.Helper()
	all := map[string]string{"track_wal_io_timing": "on", "track_io_timing": "on", "autovacuum": "off"}
	for name, value := range settings {
		all[name] = value
	}
	s, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir(), Settings: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"
}

// execute runs statements on a PostgreSQL.
func execute(t *testing.T, s *privatedb.Server, statements ...string) {
	t.Helper()
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, text := range statements {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// pgbench runs a script until ctx ends.
func pgbench(t *testing.T, s *privatedb.Server, script string, args ...string) (stop func()) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(s.Programs.Server), "pgbench")
	if more, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench"); len(more) > 0 { // Debian's wrappers are elsewhere
		program = more[len(more)-1]
	}
	cmd := exec.Command(program, append([]string{"-n", "-T", "600", "-h", s.SocketDir(), "-U", privatedb.Role, "-f", name}, append(args, "postgres")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() { _ = cmd.Process.Signal(syscall.SIGINT); <-ended }
	t.Cleanup(stop)
	return stop
}

const script = "insert into t select generate_series(1, 20); select count(*) from generate_series(1, 2000);"

// TestPostgres compares what a run sees with what the server's own counters and the kernel say.
func TestPostgres(t *testing.T) {
	s, dsn := startPostgres(t, map[string]string{"shared_preload_libraries": "pg_stat_statements"})
	execute(t, s, "create table t(a int)", "create extension pg_stat_statements")
	run, r := open(t, map[string]any{"dsn": dsn, "for": "12s", "every": "2s"})
	pgbench(t, s, script, "-c", "4", "-R", "400")
	time.Sleep(3 * time.Second)
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	transactions := func() (n float64) {
		if err := c.QueryRow(t.Context(), "select xact_commit + xact_rollback from pg_stat_database where datname = 'postgres'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	used := func() float64 {
		u, err := s.CPU()
		if err != nil {
			t.Fatal(err)
		}
		return u.All.Seconds()
	}
	var bins []workload.Bin
	r.Look = func(b workload.Bin) error { bins = append(bins, b); return nil }
	for range 2 { // the second on the same connection
		bins = nil
		cpu, n, began := used(), transactions(), time.Now()
		own0, _ := run.(*session).on.Source.(explain.Costed).OwnCPU()
		got, err := run.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		own1, _ := run.(*session).on.Source.(explain.Costed).OwnCPU()
		took := time.Since(began).Seconds()
		v := got.Values
		t.Logf("missing %q, warnings %q", got.Missing, got.Warnings)
		wall := v["transactions"] / v["transactions_per_s"]
		near(t, "wall", wall, took, 0.5)
		near(t, "transactions", v["transactions"], (transactions()-n)*wall/took, 0.1*v["transactions"])
		cpu = used() - cpu - (own1 - own0)
		near(t, "cpu_s", v["cpu_s"], cpu*wall/took, 0.03*cpu+0.03)
		near(t, "cpu_per_transaction", v["cpu_per_transaction"], v["cpu_s"]/v["transactions"], 1e-9)
		t.Logf("own session %.3f s in %.1f s; elapsed %.3f s, busy %.3f, log %.3f, queue %.3f", own1-own0, took, v["elapsed_s"], v["busy_s"], v["log_wait_s"], v["queue_s"])
		var sum float64
		for _, b := range bins {
			sum += b.Values["transactions"]
		}
		near(t, "transactions of all looks", sum, v["transactions"], 0.5)
		if len(bins) < 5 || bins[len(bins)-1].At < 11*time.Second {
			t.Errorf("%d looks, the last at %v", len(bins), bins[len(bins)-1].At)
		}
	}
}

// TestPostgresKilled is a server that ends in the midst.
func TestPostgresKilled(t *testing.T) {
	s, dsn := startPostgres(t, nil)
	run, r := open(t, map[string]any{"dsn": dsn, "for": "60s", "every": "1s"})
	time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(s.PID(), syscall.SIGKILL) })
	_, err := run.Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "has ended or was restarted after ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	t.Log(err)
	_, err = run.Run(t.Context(), r)
	t.Log(err)
}
