//go:build system

package oltp

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
	"hostlab/internal/workload/workloadtest"
)

func onPostgres(more map[string]any) map[string]any {
	p := map[string]any{"database": database.Postgres, "rows": int64(300), "count": int64(600), "workers": int64(3), "scan_size": "200KiB"}
	for name, v := range more {
		p[name] = v
	}
	return p
}

func TestContractPostgres(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     onPostgres(map[string]any{"scanner": floating}),
		Long:       onPostgres(map[string]any{"count": int64(maxCount)}),
		Operations: 600,
		Work:       func(_ *testing.T, s workload.Session, _ workload.Sample) any { return s.(*session).did },
	})
}

// Both databases read the same, levels of all parameters take effect in one session, and
// a broken or killed server is said in one line.
func TestPostgres(t *testing.T) {
	work := t.TempDir()
	v := values(t, onPostgres(nil))
	opened, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	defer s.Close()
	run := func(more map[string]any) (workload.Sample, error) {
		return s.Run(t.Context(), workload.Request{Params: values(t, onPostgres(more)), Seed: 5})
	}
	if _, err := run(map[string]any{"database": database.SQLite}); err != nil {
		t.Fatal(err)
	}
	want := s.did
	for _, more := range []map[string]any{nil, {"sync": "full"}, {"sync": "normal", "workers": int64(8)}, {"cpus": cpus.All, "leave_room": true}, {"reads": 0.0}, {"rows": int64(900)}} {
		got, err := run(more)
		if err != nil {
			t.Fatalf("%v: %v", more, err)
		}
		if same := s.did == want; same != (more["reads"] == nil && more["rows"] == nil) {
			t.Errorf("%v: read %x, SQLite %x", more, s.did, want)
		}
		if !(got.Values["cpu_s"] > 0) || !(got.Values["tx_rate"] > 0) || got.Operations != 600 {
			t.Errorf("%v: %+v", more, got.Values)
		}
	}
	c := cluster{s.postgres.Private().Address()}
	if err := c.execute(t.Context(), base, "UPDATE customer SET credit = credit + 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := run(map[string]any{"rows": int64(900)}); err == nil || !strings.Contains(err.Error(), "other data than was written") {
		t.Errorf("another base: %v", err)
	}
	time.AfterFunc(time.Second, func() { _ = syscall.Kill(c.PID, syscall.SIGKILL) })
	if _, err := run(map[string]any{"count": int64(maxCount)}); err == nil || !strings.Contains(err.Error(), "signal 9") || strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	if _, err := run(nil); err != nil {
		t.Errorf("after it: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
