//go:build system

package client

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hostlab/internal/delayfs"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
)

// TestMain serves slow directories, in a process of their own.
func TestMain(m *testing.M) {
	worker.Main(delayfs.Jobs())
	os.Exit(m.Run())
}

// One statement fills more than a segment of the log: it syncs the full one and makes
// the next before any commit, so that the commit alone bounds nothing.
func TestStatementsThatWaitForTheLog(t *testing.T) {
	if why := delayfs.Lacking(); why != "" {
		t.Fatal("no slow device here: " + why)
	}
	base := t.TempDir()
	at, behind := filepath.Join(base, "at"), filepath.Join(base, "behind")
	for _, dir := range []string{at, behind} {
		testkit.OK(t, os.Mkdir(dir, 0o755))
	}
	const each = 300 * time.Millisecond
	m := testkit.Must(delayfs.New(t.Context(), behind, at, each))(t)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	given := map[string]any{"mode": server, "log_dir": at, "tables": int64(1), "rows": int64(120_000)}
	s := begin(t, Copy{}, given)
	got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3}))(t)
	v := got.Values
	if v["log_bytes"] < 17<<20 {
		t.Fatalf("%g bytes of log fill no segment: the test needs more rows", v["log_bytes"])
	}
	if most := v["log_gain_bound"] * v["duration"]; most < v["commit_wait"]+each.Seconds()/2 ||
		v["log_share"] > v["log_gain_bound"] {
		t.Errorf("at most %g s of %g s, %g s in the commit: the statement's waits are not in it (log's I/O %g s)", most,
			v["duration"], v["commit_wait"], v["log_io"])
	}
	t.Logf("%.0f B: duration %.2f s, commit %.2f s, bound %.3f, share %.3f, log_io %.2f s, unexplained %.2f s, others %.2f s", v["log_bytes"], v["duration"], v["commit_wait"], v["log_gain_bound"], v["log_share"], v["log_io"], v["part_unexplained"], v["part_other"])
}

// What the job's session was seen doing on a slow log device stands in the server's own
// words, and makes up the time.
func TestWaitEvents(t *testing.T) {
	if why := delayfs.Lacking(); why != "" {
		t.Fatal("no slow device here: " + why)
	}
	for engine, want := range map[string]string{inPostgres: "IO:WALSync", inMariaDB: "Commit"} {
		base := shortDir(t)
		at, behind := filepath.Join(base, "at"), filepath.Join(base, "behind")
		for _, dir := range []string{at, behind} {
			testkit.OK(t, os.Mkdir(dir, 0o755))
		}
		m := testkit.Must(delayfs.New(t.Context(), behind, at, 30*time.Millisecond))(t)
		given := map[string]any{"engine": engine, "log_dir": at, "package": int64(20)}
		s := begin(t, Copy{}, given)
		for range 2 { // the second looks through the session of the first
			got := testkit.Must(s.Run(t.Context(), workload.Request{Params: values(t, Copy{}, given), Seed: 3}))(t)
			if got.Waits == nil {
				t.Fatalf("%s: none", engine)
			}
			sum, log := 0.0, 0.0
			for _, e := range got.Waits.Events {
				if sum += e.Seconds; e.Name == want && e.Part == string(explain.LogWait) {
					log = e.Seconds
				}
			}
			if d := got.Values["duration"]; sum < d/2 || sum > d*1.1 || log < d/4 || got.Waits.Looks < 5 {
				t.Errorf("%s: %g s in %d looks of %g s: %+v", engine, sum, got.Waits.Looks, d, got.Waits.Events)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
