package scanlock

import (
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"

	"github.com/google/go-cmp/cmp"
)

func pairParams(t *testing.T, given map[string]any) workload.Values {
	t.Helper()
	v, err := workload.Check(Pair{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPairContract(t *testing.T) {
	workloadtest.Contract(t, Pair{}, workloadtest.Config{
		// Long enough for a turn on CPUs that others keep busy.
		Params:     map[string]any{"duration": "200ms", "warm_up": "5ms"},
		Long:       map[string]any{"duration": "20s"},
		Operations: workloadtest.Some,
		Unseeded:   "both threads repeat one step each, with nothing to draw",
	})
}

func TestAntagonists(t *testing.T) {
	s, err := Pair{}.Open(t.Context(), workload.Config{Params: pairParams(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, a := range antagonists {
		for _, touch := range []bool{false, true} {
			// Where others keep the CPUs busy the two may not meet in a short stretch.
			wrong := ""
			for _, duration := range []string{"20ms", "200ms", "2s"} {
				got, err := s.Run(t.Context(), workload.Request{Params: pairParams(t, map[string]any{"antagonist": a, "touch": touch, "duration": duration, "warm_up": "5ms"})})
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
	if _, ok := got.Values["other_rate"]; ok != (a != cellNone) || ok && got.Values["other_rate"] <= 0 {
		return fmt.Sprintf("other_rate %v", got.Values)
	}
	if _, ok := got.Values["scan_rate"]; ok != (a == string(Scan)) {
		return fmt.Sprintf("scan_rate %v", got.Values)
	}
	if spins := got.Values["spins_per_lock"]; spins != 0 && a != string(Lock) {
		return fmt.Sprintf("%v spins on a lock that nobody wants", spins)
	}
	return ""
}

// Of a run that others disturbed the figures stay, with a warning.
func TestPaired(t *testing.T) {
	got := paired(workload.Sample{Operations: 7, Doubt: "others took 25 % of a CPU that the threads ran on",
		Values:  map[string]float64{"lock_rate": 50, "other_rate": 2, "ping_pong": 3},
		Missing: map[string]string{"spins_per_lock": alone, "scan_rate": "nothing scans", "share": alone}})
	want := workload.Sample{Operations: 7, Values: map[string]float64{"lock_rate": 50, "spins_per_lock": 0, "other_rate": 2},
		Missing: map[string]string{"scan_rate": "nothing scans"}, Warnings: []string{"others took 25 % of a CPU that the threads ran on"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCPUsThatCannotBe(t *testing.T) {
	for want, given := range map[string]map[string]any{
		"parameter lock_cpu: CPU 5000: offline, or not among":          {"lock_cpu": int64(5000)},
		"parameter other_cpu: CPU 5000: offline, or not among":         {"other_cpu": int64(5000)},
		"parameter other_cpu: both threads are to run on CPU 1; spinn": {"lock_cpu": int64(1)},
	} {
		_, err := Pair{}.Open(t.Context(), workload.Config{Params: pairParams(t, given)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v gave %v, want %q", given, err, want)
		}
	}
}
