package burst

import (
	"os"
	"strings"
	"testing"

	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"kernel": Mixed, "working_set": "64KiB", "slice": "200us", "pause": "1ms", "count": int64(70)},
		Long:       map[string]any{"pause": "100ms", "count": int64(100)},
		Operations: 70,
		Work:       func(_ *testing.T, s workload.Session, _ workload.Sample) any { return s.(*session).at },
	})
}

// More work takes longer, and waking up counts.
func TestResponses(t *testing.T) {
	check := func(given map[string]any) workload.Values {
		t.Helper()
		v, err := workload.Check(Workload{}.Describe(), given)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := check(nil)
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: first})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, kernel := range []string{ALU, Mixed, Chase} {
		run := func(slice string) map[string]float64 {
			t.Helper()
			got, err := s.Run(t.Context(), workload.Request{Params: check(map[string]any{"kernel": kernel, "slice": slice, "pause": "1ms", "count": int64(20), "working_set": "64KiB"})})
			if err != nil {
				t.Fatal(err)
			}
			return got.Values
		}
		// On a busy machine short slices wait for longer than they work; it is not busy each time.
		var ratios []float64
		var long map[string]float64
		for len(ratios) < 20 {
			short := run("100us")
			long = run("1ms")
			ratio := long["slice_s"] / short["slice_s"]
			if ratios = append(ratios, ratio); ratio >= 6 && ratio <= 16 {
				break
			}
		}
		if len(ratios) == 20 {
			t.Errorf("%s: ten times the work took %.1f times as long", kernel, ratios)
		}
		if long["wakeup_s"] < 0 || long["p50"] < long["slice_s"] || long["cpu_s"] <= 0 {
			t.Errorf("%s: %v", kernel, long)
		}
	}
	got, err := s.Run(t.Context(), workload.Request{Params: check(map[string]any{"pause": "0s", "slice": "50us", "count": int64(200)})})
	if err != nil || got.Missing["wakeup_s"] == "" || got.Values["p95"] <= 0 || got.Missing["p99"] == "" {
		t.Errorf("without a pause: %+v, %v", got, err)
	}
}

func TestNoSuchCPU(t *testing.T) {
	v, err := workload.Check(Workload{}.Describe(), map[string]any{"cpu": int64(5000)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Workload{}.Open(t.Context(), workload.Config{Params: v})
	if err == nil || !strings.Contains(err.Error(), "parameter cpu: CPU 5000: offline, or not among the CPUs this process may use") {
		t.Errorf("%v", err)
	}
}
