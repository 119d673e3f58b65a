package corun

import (
	"math"
	"os"
	"strings"
	"testing"

	"hostlab/internal/workload"
	"hostlab/internal/workload/worker"
	"hostlab/internal/workload/workloadtest"
)

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

func check(t *testing.T, given map[string]any) workload.Values {
	t.Helper()
	v, err := workload.Check(Workload{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"duration": "10ms", "warm_up": "5ms"},
		Long:       map[string]any{"duration": "20s"},
		Operations: workloadtest.Some,
	})
}

func TestAntagonists(t *testing.T) {
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: check(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, a := range antagonists {
		for _, touch := range []bool{false, true} {
			got, err := s.Run(t.Context(), workload.Request{Params: check(t, map[string]any{"antagonist": a, "touch": touch, "duration": "20ms", "warm_up": "5ms"})})
			if err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			if got.Values["lock_rate"] < 1e5 {
				t.Errorf("%s: %v acquisitions a second", a, got.Values["lock_rate"])
			}
			if _, ok := got.Values["other_rate"]; ok != (a != None) || ok && got.Values["other_rate"] <= 0 {
				t.Errorf("%s: other_rate %v", a, got.Values)
			}
			if _, ok := got.Values["scan_rate"]; ok != (a == Scan) {
				t.Errorf("%s: scan_rate %v", a, got.Values)
			}
			if spins := got.Values["spins_per_lock"]; spins != 0 && a != Lock {
				t.Errorf("%s: %v spins on a lock that nobody wants", a, spins)
			}
		}
	}
}

func TestSample(t *testing.T) {
	got, err := sample(Cell{CPUs: []int{2, 3}, Antagonist: Scan, Scan: 1000},
		[]Side{{Wall: 2, Locked: 100, Spins: 50, HasWaited: true, Waited: 0.5}, {Wall: 4, Rounds: 8}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"lock_rate": 50, "spins_per_lock": 0.5, "other_rate": 2, "scan_rate": 2000} {
		if math.Abs(got.Values[name]-want) > 1e-9 {
			t.Errorf("%s = %g, want %g", name, got.Values[name], want)
		}
	}
	if len(got.Warnings) != 1 || got.Warnings[0] != "the thread on CPU 2 waited 25 % of the time for other work there" {
		t.Errorf("warnings %q", got.Warnings)
	}
	if _, err := sample(Cell{CPUs: []int{2}, Seconds: 1}, []Side{{Wall: 1}}); err == nil {
		t.Error("a lock that was never taken has a rate")
	}
}

func TestCPUsThatCannotBe(t *testing.T) {
	for want, given := range map[string]map[string]any{
		"parameter lock_cpu: CPU 5000: offline, or not among":          {"lock_cpu": int64(5000)},
		"parameter other_cpu: CPU 5000: offline, or not among":         {"other_cpu": int64(5000)},
		"parameter other_cpu: both threads are to run on CPU 1; spinn": {"lock_cpu": int64(1)},
	} {
		_, err := Workload{}.Open(t.Context(), workload.Config{Params: check(t, given)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v gave %v, want %q", given, err, want)
		}
	}
}
