//go:build system

package dialog

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
	"hostlab/internal/workload/workloadtest"
)

// asking is steps of two slices with a query between them.
func asking(kind string, more ...any) map[string]any {
	out := map[string]any{"database": kind, "slices": int64(2), "slice": "1ms", "documents": int64(20), "items": int64(50),
		"duration": "150ms", "think": "3ms"}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestContractWithDatabase(t *testing.T) {
	for _, kind := range []string{database.SQLite, database.Postgres} {
		t.Run(kind, func(t *testing.T) {
			workloadtest.Contract(t, Workload{}, workloadtest.Config{
				Params: asking(kind), Long: asking(kind, "duration", "30s"), Operations: workloadtest.Some,
				Unseeded: "which documents are read does not show",
			})
		})
	}
}

func open(t *testing.T, params map[string]any) (*session, workload.Params) {
	t.Helper()
	v := values(t, params)
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: t.TempDir(), Work: t.TempDir()}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*session), v
}

// Steps wait for their queries in place of sleeping: a larger document takes longer,
// open and closed, with and without an emulated clock.
func TestQueries(t *testing.T) {
	for _, kind := range []string{database.SQLite, database.Postgres} {
		s, _ := open(t, asking(kind))
		for _, c := range []map[string]any{
			asking(kind, "policy", "balanced-rs1"),
			asking(kind, "load", 0.3, "think", "0s", "slices", int64(3), "duration", "300ms"),
			asking(kind, "users", int64(9), "items", int64(700), "documents", int64(3)),
		} {
			got, err := s.Run(t.Context(), workload.Request{Params: values(t, c), Seed: 7})
			if err != nil {
				t.Fatalf("%s %v: %v", kind, c, err)
			}
			wait, one, step := got.Values["db_wait_s"], got.Values["db_query_s"], got.Values["step_mean"]
			if !(one > 1e-6) || !(wait > 1e-6) || wait >= step || got.Done < got.Operations {
				t.Errorf("%s %v: a query takes %g s, a step waits %g s of %g s; %d of %d steps count", kind, c, one, wait, step,
					got.Operations, got.Done)
			}
		}
	}
}

// A server that dies fails the run in one line, and the next run has a new one.
func TestServerDies(t *testing.T) {
	s, v := open(t, asking(database.Postgres, "duration", "20s"))
	pid := s.databases.postgres.Private().PID()
	time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	_, err := s.Run(t.Context(), workload.Request{Params: v, Seed: 1})
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL was ended by signal 9") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	if _, err := s.Run(t.Context(), workload.Request{Params: values(t, asking(database.Postgres)), Seed: 1}); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// Without a database nothing is made, and what says how long to wait is refused with one.
func TestDatabaseRefuses(t *testing.T) {
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{asking(database.SQLite, "slices", int64(1)),
			"parameter database: a step asks the database between its slices, and has one; make slices 2 or more"},
		{asking(database.SQLite, "wait", "1ms"),
			"parameter wait: a step that asks a database waits as long as the query takes; leave out one of wait and database"},
		{asking(database.SQLite, "documents", int64(1e6), "items", int64(1e5)),
			"parameter documents: 1000000 documents of 100000 items are above 1 GiB; make one of the two less"},
	} {
		if err := (Workload{}).Validate(workload.Config{Params: values(t, c.given)}); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v\nwant %s", c.given, err, c.want)
		}
	}
	for _, kind := range []string{database.SQLite, database.Postgres} {
		_, err := (Workload{}).Open(t.Context(), workload.Config{Params: values(t, asking(kind)), Work: "/proc/nowhere"})
		if err == nil || !strings.Contains(err.Error(), "/proc/nowhere") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s in a directory that is not there: %v", kind, err)
		}
	}
	work := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := databases{work: work}
	testkit.Refused(h.source(ctx, database.SQLite, 5, 5))(t, "", "filled though it was cancelled")
	if err := h.close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(work); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
