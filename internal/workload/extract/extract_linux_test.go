//go:build system

package extract

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// did is what a file's size tells of the rows, which the seed decides.
func did(_ *testing.T, _ workload.Session, got workload.Sample) any {
	return int64(got.Values["bytes_per_s"]*got.Values["wall"] + 0.5)
}

func TestContract(t *testing.T) {
	for _, c := range []struct{ engine, read string }{{embedded, byCursor}, {inPostgres, byCursor}, {inPostgres, byCopy}} {
		t.Run(c.engine+" "+c.read, func(t *testing.T) {
			workloadtest.Contract(t, Workload{}, workloadtest.Config{
				Params:     map[string]any{"engine": c.engine, "read": c.read, "rows": int64(2500), "package": int64(1000), "work": int64(2)},
				Long:       map[string]any{"engine": c.engine, "read": c.read, "rows": int64(2500), "package": int64(100), "work": int64(1_000_000)},
				Operations: 2500,
				Work:       did,
			})
		})
	}
}

func values(t *testing.T, given map[string]any) workload.Values {
	t.Helper()
	v, err := workload.Check(Workload{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Engines and sizes change within a session; a package may be larger than the table,
// or divide it without a rest. The parts of the time are plausible.
func TestLevels(t *testing.T) {
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: values(t, nil), Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []map[string]any{
		{"rows": int64(1)}, {"rows": int64(3000), "package": int64(1)}, {"rows": int64(3000), "package": int64(3000)},
		{"engine": inPostgres, "rows": int64(1)}, {"engine": inPostgres, "rows": int64(3000), "package": int64(1000)},
		{"engine": inPostgres, "rows": int64(3000), "package": int64(1_000_000), "read": byCopy}, {"rows": int64(3000), "work": int64(500)},
	} {
		got, err := s.Run(t.Context(), workload.Request{Params: values(t, c), Seed: 3})
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		v := got.Values
		if !(v["wall"] > 0) || v["db_wait_s"] > v["wall"] || len(got.Missing) > 0 || v["app_cpu_s"] < 0 || v["db_cpu_s"] < 0 {
			t.Errorf("%v: %+v", c, got)
		}
	}
}

// More work is the application's alone.
func TestWorkIsTheApplications(t *testing.T) {
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: values(t, nil), Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cpu := func(work int64) float64 {
		got, err := s.Run(t.Context(), workload.Request{Params: values(t, map[string]any{"rows": int64(5000), "work": work}), Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		return got.Values["app_cpu_s"]
	}
	if none, much := cpu(0), cpu(2000); much < 2*none {
		t.Errorf("application's CPU time %g s without work, %g s with much", none, much)
	}
}

// A wrong row is found.
func TestCheck(t *testing.T) {
	app, err := newApplication(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer app.close()
	var want File
	want.add([]byte("a\tb\n"), 1)
	var p pkg
	p.field([]byte("a"), false)
	p.field([]byte("c"), true)
	if err := app.take(p); err != nil {
		t.Fatal(err)
	}
	if err := app.finish(); err != nil {
		t.Fatal(err)
	}
	if err := app.check(want); err == nil || !strings.Contains(err.Error(), "the job is broken") {
		t.Errorf("another letter: %v", err)
	}
}

// A full disk's error names what chooses a directory for whoever reads it.
func TestDiskIsFull(t *testing.T) {
	app, err := newApplication(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer app.close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	app.out.Reset(full)
	var p pkg
	p.field(make([]byte, 100), true)
	if err := app.take(p); err != nil {
		t.Fatal(err)
	}
	const want = "make room, or choose another directory with TMPDIR, or of a study with --out"
	first := app.finish()
	p.field(make([]byte, 1<<20), true)
	for _, err := range []error{first, app.take(p)} {
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

func TestServerDiesInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	given := map[string]any{"engine": inPostgres, "rows": int64(5000), "package": int64(10), "work": int64(20_000)}
	open, err := Workload{}.Open(t.Context(), workload.Config{Params: values(t, given), Work: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	s := open.(*session)
	given["work"] = int64(0)
	if _, err := s.Run(t.Context(), workload.Request{Params: values(t, given), Seed: 3}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = syscall.Kill(s.engine.(*inServer).server.PID(), syscall.SIGKILL) })
	given["work"] = int64(20_000)
	_, err = s.Run(t.Context(), workload.Request{Params: values(t, given), Seed: 3})
	if err == nil || !strings.Contains(err.Error(), "signal 9") || strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	given["work"] = int64(0)
	if _, err := s.Run(t.Context(), workload.Request{Params: values(t, given), Seed: 3}); err != nil {
		t.Errorf("after it: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestRefuses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		given map[string]any
		work  string
		want  string
	}{
		{map[string]any{"read": byCopy}, t.TempDir(), "COPY is PostgreSQL's"},
		{nil, "/proc/nowhere", "cannot make"},
		{map[string]any{"engine": inPostgres}, "/proc/nowhere", "cannot be made"},
	} {
		_, err := Workload{}.Open(ctx, workload.Config{Params: values(t, c.given), Work: c.work})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, expected %q", c.given, err, c.want)
		}
	}
}
