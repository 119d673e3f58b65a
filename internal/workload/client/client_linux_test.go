//go:build system

package client

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// did is what the run left, which the seed decides.
func did(_ *testing.T, s workload.Session, _ workload.Sample) any { return s.(*session).did }

func TestContract(t *testing.T) {
	few := map[string]any{"rows": int64(300), "tables": int64(4), "package": int64(50), "work": int64(2)}
	for _, c := range []struct {
		w          workload.Workload
		engine     string
		operations int64 // commits, or rows
	}{
		{Extract{}, inMariaDB, 300}, {Extract{}, inPostgres, 300}, {Copy{}, inPostgres, 8}, {Delete{}, inMariaDB, 8},
	} {
		t.Run(c.w.Describe().Name+" "+c.engine, func(t *testing.T) {
			given, long := map[string]any{"engine": c.engine}, map[string]any{"engine": c.engine}
			for name, v := range few {
				if _, ok := c.w.Describe().Param(name); ok {
					given[name], long[name] = v, v
				}
			}
			long["rows"], long["package"] = int64(60_000), int64(1)
			workloadtest.Contract(t, c.w, workloadtest.Config{Params: given, Long: long, Operations: c.operations, Work: did})
		})
	}
}

func values(t *testing.T, w workload.Workload, given map[string]any) workload.Params {
	t.Helper()
	params := map[string]any{"rows": int64(300), "tables": int64(4), "package": int64(50)}
	for name, v := range given {
		params[name] = v
	}
	return testkit.Must(workload.Check(w.Describe(), params))(t)
}

func begin(t *testing.T, w workload.Workload, given map[string]any) *session {
	t.Helper()
	s := testkit.Must(w.Open(t.Context(), workload.Config{Params: values(t, w, given), Work: t.TempDir(), Dir: t.TempDir()}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*session)
}

// The log moves between directories within a session, packages and sizes change, and
// the parts of the time add up.
func TestLevels(t *testing.T) {
	for _, engine := range []string{inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			first, second := t.TempDir(), t.TempDir()
			s := begin(t, Copy{}, map[string]any{"engine": engine, "log_dir": first})
			for _, c := range []map[string]any{
				{"log_dir": first}, {"log_dir": second}, {"log_dir": second, "rows": int64(7), "package": int64(1)},
				{"log_dir": first, "tables": int64(3), "package": int64(100_000)}, {},
			} {
				c["engine"] = engine
				p := values(t, Copy{}, c)
				got, err := s.Run(t.Context(), workload.Request{Params: p, Seed: 3})
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				for _, dir := range []string{first, second} {
					ours, err := os.ReadDir(dir)
					if want := dir == p.(*CopyParams).LogDir; err != nil || len(ours) > 0 != want {
						t.Errorf("%v: log in %s: %v, %v", c, dir, ours, err)
					}
				}
				v := got.Values
				if diff := v["duration"] - v["app_time"] - v["db_time"]; math.Abs(diff) > 1e-9 || v["db_time"] < v["commit_wait"] ||
					!(v["log_gain_bound"] > 0) || v["log_gain_bound"] > 1 {
					t.Errorf("%v: %+v", c, v)
				}
				if engine == inPostgres && (v["log_writes"] < 1 || v["log_bytes"] < 1000 || v["log_write_avg"] <= 0 ||
					v["db_cpu"] <= 0) {
					t.Errorf("%v: the server's counters: %+v", c, v)
				}
				sum := 0.0
				for _, part := range parts {
					sum += v[response(part)]
				}
				if v[response(explain.Application)] <= 0 {
					t.Errorf("%v: no application in %+v", c, v)
				}
				if sum < v["duration"]*0.999 {
					t.Errorf("%v: parts of %g s add up to %g s", c, v["duration"], sum)
				}
			}
		})
	}
}

// More work is the application's alone.
func TestWorkIsTheApplications(t *testing.T) {
	s := begin(t, Copy{}, nil)
	app := func(work int64) float64 {
		got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{},
			map[string]any{"work": work}), Seed: 3}))(t)
		return got.Values["app_cpu"]
	}
	if none, much := app(0), app(20_000); much < 5*none {
		t.Errorf("application's CPU time %g s without work, %g s with much", none, much)
	}
}

// A job that leaves a row out, or one too many, is found.
func TestVerify(t *testing.T) {
	for name, spoil := range map[string]string{"gone": "DELETE FROM zclient01 WHERE mandt = '200' AND docno = '0000000001'", "source": "UPDATE zclient02 SET waers = 'XXX' WHERE mandt = '100'"} {
		s := begin(t, Copy{}, nil)
		testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, nil), Seed: 3}))(t)
		testkit.OK(t, s.engine.execAll(t.Context(), spoil))
		testkit.Fails(t, s.verify(t.Context(), s.engine.made, 300), "the job is broken", name)
	}
}

// A server that is killed in the middle fails the run in one line; the next run has
// another, and nothing is left.
func TestServerDiesInTheMiddle(t *testing.T) {
	for _, engine := range []string{inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			logs := t.TempDir()
			given := map[string]any{"engine": engine, "log_dir": logs}
			s := begin(t, Copy{}, given)
			given["rows"], given["work"] = int64(3000), int64(20_000)
			timer := time.AfterFunc(time.Second, func() {
				_ = unix.Kill(s.engine.server.PID(), syscall.SIGKILL)
			})
			defer timer.Stop()
			_, err := s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3})
			if err == nil || !strings.Contains(err.Error(), "signal 9") || strings.Contains(err.Error(), "\n") {
				t.Errorf("killed: %v", err)
			}
			given["rows"], given["work"] = int64(100), int64(0)
			if _, err := s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3}); err != nil {
				t.Errorf("after it: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, dir := range []string{logs, s.work} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("left %v, %v", left, err)
				}
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{map[string]any{"log_dir": "/proc/self"}, "which the kernel makes up"},
		{map[string]any{"log_dir": file}, "not a directory"},
		{map[string]any{"log_dir": "nowhere"}, "does not exist"},
		{map[string]any{"log_dir": "delay:20ms"}, "slowed ones are for levels of a study"},
		{map[string]any{"dsn": "postgres://ann:s3cr3t@db/erp"}, "has a password"},
		{map[string]any{"dsn": "mariadb://ann@db/erp"}, "write engine=mariadb"},
		{map[string]any{"dsn": "s3cr3t"}, "write it as"},
		{map[string]any{"dsn": "postgres://ann@db/erp", "log_dir": "/tmp"}, "is not moved"},
		{map[string]any{"dsn": "postgres://ann@db/erp", "schema": "a;b"}, "small letters"},
		{map[string]any{"schema": "a"}, "leave it out"},
		{map[string]any{"dsn": "postgres://ann@127.0.0.1:1/erp", "schema": "pg_catalog"},
			"pg_catalog is the server's own; name one"},
		{map[string]any{"dsn": "postgres://ann@127.0.0.1:1/erp", "schema": "information_schema"},
			"is the server's own; name one"},
		{map[string]any{"dsn": "mariadb://ann@127.0.0.1:1/erp", "engine": inMariaDB, "schema": "mysql"},
			"is the server's own; name one"},
		{map[string]any{"dsn": "mariadb://ann@127.0.0.1:1/erp", "engine": inMariaDB, "schema": "pg_catalog"},
			"connection refused"},
		{map[string]any{"dsn": "postgres://ann@127.0.0.1:1/erp"}, "connection refused"},
		{map[string]any{"dsn": "mariadb://ann@127.0.0.1:1/erp", "engine": inMariaDB}, "connection refused"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := Copy{}.Open(ctx, workload.Config{Params: values(t, Copy{}, c.given), Work: t.TempDir(), Dir: t.TempDir()})
		cancel()
		if _, ok := errors.AsType[*workload.ParamError](err); !ok || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v: %v, expected %q", c.given, err, c.want)
		}
	}
}

// Another session holds rows that the job wants: the wait is told as one for locks.
func TestLocks(t *testing.T) {
	for _, engine := range []string{inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			s := begin(t, Delete{}, map[string]any{"engine": engine})
			run := otherSession(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			var other sync.WaitGroup
			defer other.Wait()
			defer cancel()
			other.Go(func() {
				for ctx.Err() == nil {
					holdRows(ctx, run)
				}
			})
			for range 20 { // a busy host may come to the job after the rows are free again
				got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Delete{}, map[string]any{"engine": engine}),
					Seed: 3}))(t)
				if v := got.Values; v["part_lock"] > 0.1 {
					if v["part_lock"] > v["duration"] {
						t.Errorf("%g s of locks in %g s", v["part_lock"], v["duration"])
					}
					return
				}
			}
			t.Error("no run tells of locks")
		})
	}
}

// otherSession runs statements in a session beside the job's, and counts the rows of the last.
func otherSession(t *testing.T, s *session) (run func(sql string) (rows int)) {
	t.Helper()
	db := testkit.Must(s.engine.server.Open())(t)
	t.Cleanup(func() { db.Close() })
	c := testkit.Must(db.Conn(t.Context()))(t)
	return func(sql string) (rows int) {
		found, err := c.QueryContext(context.Background(), sql)
		if err != nil {
			return 0
		}
		defer found.Close()
		for found.Next() {
			rows++
		}
		if found.Err() != nil {
			return 0
		}
		return rows
	}
}

// holdRows locks rows of a filled table for a while.
func holdRows(ctx context.Context, run func(string) int) {
	run("BEGIN")
	wait := time.Millisecond
	if run("SELECT docno FROM zclient01 WHERE mandt = '200' ORDER BY docno DESC LIMIT 1 FOR UPDATE") == 1 {
		wait = 700 * time.Millisecond
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
	run("ROLLBACK")
}

// Tables that were made in part, as when a run is cancelled meanwhile, are made anew.
func TestTablesMadeInPart(t *testing.T) {
	for _, engine := range []string{inPostgres, inMariaDB} {
		t.Run(engine, func(t *testing.T) {
			given := map[string]any{"engine": engine, "rows": int64(100), "tables": int64(3)}
			s := begin(t, Copy{}, given)
			other := otherSession(t, s)
			other("CREATE TABLE zclient02 (a integer)")
			request := workload.Request{Params: values(t, Copy{}, given), Seed: 3}
			if _, err := s.Run(t.Context(), request); err == nil || !strings.Contains(err.Error(), "exists") {
				t.Fatalf("with a table in the way: %v", err)
			}
			other("DROP TABLE zclient02")
			if _, err := s.Run(t.Context(), request); err != nil {
				t.Errorf("after it: %v", err)
			}
		})
	}
}
