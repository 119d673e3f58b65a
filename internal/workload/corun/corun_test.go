package corun

import (
	"fmt"
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
		// Long enough for a turn on CPUs that others keep busy.
		Params:     map[string]any{"duration": "200ms", "warm_up": "5ms"},
		Long:       map[string]any{"duration": "20s"},
		Operations: workloadtest.Some,
		Unseeded:   "both threads repeat one step each, with nothing to draw",
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
			// Where others keep the CPUs busy the two may not meet in a short stretch.
			wrong := ""
			for _, duration := range []string{"20ms", "200ms", "2s"} {
				got, err := s.Run(t.Context(), workload.Request{Params: check(t, map[string]any{"antagonist": a, "touch": touch, "duration": duration, "warm_up": "5ms"})})
				if err != nil {
					wrong = err.Error()
				} else {
					wrong = implausible(a, got)
				}
				if wrong == "" {
					break
				}
			}
			if wrong != "" {
				t.Errorf("%s: %s", a, wrong)
			}
		}
	}
}

// implausible says what is wrong with a run beside an antagonist, or "".
func implausible(a string, got workload.Sample) string {
	if got.Values["lock_rate"] < 1e5 {
		return fmt.Sprintf("%v acquisitions a second", got.Values["lock_rate"])
	}
	if _, ok := got.Values["other_rate"]; ok != (a != None) || ok && got.Values["other_rate"] <= 0 {
		return fmt.Sprintf("other_rate %v", got.Values)
	}
	if _, ok := got.Values["scan_rate"]; ok != (a == Scan) {
		return fmt.Sprintf("scan_rate %v", got.Values)
	}
	if spins := got.Values["spins_per_lock"]; spins != 0 && a != Lock {
		return fmt.Sprintf("%v spins on a lock that nobody wants", spins)
	}
	return ""
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
