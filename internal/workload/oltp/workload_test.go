package oltp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/cpus"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

func values(t *testing.T, given map[string]any) workload.Values {
	t.Helper()
	v, err := workload.Check(Workload{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestContract(t *testing.T) {
	small := func(more map[string]any) map[string]any {
		p := map[string]any{"rows": int64(300), "count": int64(600), "workers": int64(3), "scanner": floating, "scan_size": "200KiB"}
		for name, v := range more {
			p[name] = v
		}
		return p
	}
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     small(nil),
		Long:       small(map[string]any{"count": int64(maxCount)}),
		Operations: 600,
		Work:       func(_ *testing.T, s workload.Session, _ workload.Sample) any { return s.(*session).did },
		Stalled: func(t *testing.T, stall time.Duration) (workload.Session, workload.Request, float64) {
			const perSecond = 1000
			v := values(t, small(map[string]any{"rate": float64(perSecond), "arrivals": "even", "workers": int64(1), "scanner": none}))
			s, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Work: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			s.(*session).stall = stall
			return s, workload.Request{Params: v}, perSecond
		},
	})
}

// A run has the responses that its parameters give it, and levels of all of them take
// effect in one session.
func TestResponses(t *testing.T) {
	v := values(t, map[string]any{"rows": int64(300), "count": int64(4000), "workers": "2"})
	work := t.TempDir()
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		given   map[string]any
		missing []string
	}{
		{map[string]any{"rows": int64(300), "count": int64(4000)}, []string{"scan_rate"}},
		{map[string]any{"rows": int64(50), "count": int64(4000), "scanner": floating, "scan_size": "128"}, nil},
		{map[string]any{"rows": int64(400), "count": int64(4000), "reads": 1.0, "workers": cpus.Cores}, []string{"scan_rate", "write_p50", "write_p95"}},
		{map[string]any{"rows": int64(1), "count": int64(500), "reads": 0.0, "sync": "full"}, []string{"read_p50", "read_p95", "read_p99", "scan_rate"}},
	} {
		got, err := s.Run(t.Context(), workload.Request{Params: values(t, c.given), Seed: 3})
		if err != nil {
			t.Fatalf("%v: %v", c.given, err)
		}
		var missing []string
		for _, r := range (Workload{}).Describe().Responses {
			if v, ok := got.Values[r.Name]; !ok {
				missing = append(missing, r.Name)
			} else if !(v > 0) {
				t.Errorf("%v: %s = %g", c.given, r.Name, v)
			}
		}
		if diff := cmp.Diff(sorted(c.missing), sorted(missing)); diff != "" {
			t.Errorf("%v: missing (-want +got):\n%s", c.given, diff)
		}
		if rate := got.Values["tx_rate"] * got.Values["wall"]; rate < float64(got.Operations)*0.999 || rate > float64(got.Operations)*1.001 {
			t.Errorf("%v: %g transactions in the wall time of %d", c.given, rate, got.Operations)
		}
		if v := got.Values; v["read_p50"] > v["read_p99"] && v["read_p99"] > 0 || v["write_p50"] > v["write_p95"] && v["write_p95"] > 0 {
			t.Errorf("%v: percentiles fall: %v", c.given, v)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := s.Run(t.Context(), workload.Request{Params: v}); err == nil {
		t.Error("a closed session runs")
	}
}

func sorted(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// With arrivals slower than the workers, a run takes as long as they do.
func TestOpenArrivals(t *testing.T) {
	v := values(t, map[string]any{"rows": int64(300), "count": int64(300), "rate": 1000.0})
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Run(t.Context(), workload.Request{Params: v, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if wall := got.Values["wall"]; wall < 0.2 {
		t.Errorf("300 transactions at 1000 a second took %g s", wall)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{map[string]any{"workers": "many"}, "parameter workers: \"many\" is no number of threads; write a number, threads or cores"},
		{map[string]any{"workers": int64(0)}, "parameter workers: 0 is outside of 1 to 4096"},
		{map[string]any{"cpus": "one-per-cor"}, "did you mean one-per-core?"},
		{map[string]any{"cpus": "60000"}, "parameter cpus: CPU 60000: offline, or not among the CPUs this process may use"},
	} {
		dir := t.TempDir()
		_, err := Workload{}.Open(t.Context(), workload.Config{Params: values(t, c.given), Work: dir})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", c.given, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v: left behind: %v", c.given, left)
		}
	}
	_, err := Workload{}.Open(t.Context(), workload.Config{Params: values(t, nil), Work: filepath.Join(t.TempDir(), "gone")})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a directory: %v", err)
	}
}
