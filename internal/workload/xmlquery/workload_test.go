package xmlquery

import (
	"math"
	"os"
	"testing"

	"hostlab/internal/cpus"
	"hostlab/internal/testkit"
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
	table := generate(t, 64<<10, 1)
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"size": "64KiB", "degree": int64(2), "cpus": cpus.OnePerCore, "passes": int64(3)},
		Long:       map[string]any{"size": "64KiB", "passes": int64(1000000)},
		Operations: int64(3 * table.Rows()),
		Work: func(_ *testing.T, _ workload.Session, got workload.Sample) any { // the rows depend on the documents
			return math.Round(got.Values["rows_per_s"] * got.Values["wall"])
		},
	})
}

// Levels of size and degree take effect within a session.
func TestLevels(t *testing.T) {
	run := func(s workload.Session, given map[string]any) workload.Sample {
		t.Helper()
		v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
		return testkit.Must(s.Run(t.Context(), workload.Request{Params: v}))(t)
	}
	v := testkit.Must(workload.Check(Workload{}.Describe(), map[string]any{"size": "64KiB"}))(t)
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v}))(t)
	defer s.Close()
	small := run(s, map[string]any{"size": "64KiB", "passes": int64(4)})
	large := run(s, map[string]any{"size": "256KiB", "passes": int64(4)})
	wide := run(s, map[string]any{"size": "256KiB", "passes": int64(4), "degree": int64(40)})
	if large.Operations <= 3*small.Operations || wide.Operations != large.Operations {
		t.Errorf("documents: %d in 64 KiB, %d in 256 KiB, %d at degree 40", small.Operations, large.Operations,
			wide.Operations)
	}
	for name, v := range wide.Values {
		if !(v > 0) {
			t.Errorf("%s = %g", name, v)
		}
	}
}
