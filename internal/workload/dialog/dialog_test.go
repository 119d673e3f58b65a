package dialog

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/result"
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
	long := map[string]any{"duration": "30s", "load": 0.3}
	t.Run("open", func(t *testing.T) {
		workloadtest.Contract(t, Workload{}, workloadtest.Config{
			Params: map[string]any{"load": 0.3, "slices": int64(3), "slice": "1ms", "slice_dist": exp, "wait": "1ms",
				"wait_dist": exp, "duration": "200ms"},
			Long: long, Operations: workloadtest.Some, Work: workloadtest.Responses("demand_s"),
		})
	})
	t.Run("closed and emulated", func(t *testing.T) {
		workloadtest.Contract(t, Workload{}, workloadtest.Config{
			Params: map[string]any{"slice": "2ms", "think": "5ms", "duration": "100ms", "policy": "balanced-rs1",
				"placement": "packed"},
			Long: long, Operations: workloadtest.Some,
			Unseeded: "all lengths are fixed, so that nothing is drawn",
		})
	})
}

func values(t *testing.T, given map[string]any) workload.Params {
	t.Helper()
	v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
	return v
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{map[string]any{"load": 0.5, "users": int64(3)},
			"parameter users: arrivals are open with a load, and closed with users; give one of the two"},
		{map[string]any{"load": 0.01},
			"parameter load: open arrivals need 0.05 to 0.95 of the CPUs; 0 is a closed loop of users"},
		{map[string]any{"cpus": "0-"}, "parameter cpus: "},
		{map[string]any{"cpus": "0,0"},
			"parameter cpus: CPU 0 is there twice; write all, one-per-core, or a list such as 0-3,8"},
		{map[string]any{"slice": "20us", "duration": "1h"},
			"parameter slice: a run could have more than a million slices; make slices longer, duration shorter, or cpus fewer"},
		{map[string]any{"load": 0.5, "think": "1s"},
			"parameter think: it has no effect: users think, and arrivals with a load have none; leave out one of it and load"},
		{map[string]any{"think_dist": "exp"}, "parameter think_dist: it has no effect: users do not think; give think too"},
		{map[string]any{"wait_dist": "exp"}, "parameter wait_dist: it has no effect: there is no wait; give wait too"},
		{map[string]any{"floor": 0.3}, "parameter floor: it has no effect: it is of an emulated clock"},
		{map[string]any{"check": "15ms"}, "parameter check: it has no effect: it is of an emulated clock"},
		{map[string]any{"policy": "turbo"}, `parameter policy: no policy is called "turbo"`},
		{map[string]any{"policy": "hwp"}, "parameter policy: policy hwp: the hardware chooses the frequency"},
		{map[string]any{"policy": "fixed:40"}, "parameter policy: policy fixed:40: 40 % of nominal"},
		{map[string]any{"policy": "fixed:60", "load": 0.7, "cpus": "0"},
			"parameter policy: load 0.7 is too much for fixed:60, which carries less than 0.6; make load less, or 0, which is a closed loop of users"},
		{map[string]any{"policy": "balanced-rs1", "check": "1us"},
			"parameter check: policy balanced-rs1: PERFCHECK is 1e-06 s; it must be 0.001 to 5 s"},
		{map[string]any{"policy": "ondemand"},
			`parameter policy: ondemand emulates a clock, and this study says that it measures this host's own; write evidence = "emulated" under [study]`},
	} {
		err := Workload{}.Validate(workload.Config{Params: values(t, c.given), Evidence: result.Measured})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v\nwant %s", c.given, err, c.want)
		}
	}
	// In a study a factor may give it an effect.
	if err := (Workload{}).Validate(workload.Config{Params: values(t, map[string]any{"floor": 0.3}),
		Factors: []string{"clock"}}); err != nil {
		t.Error(err)
	}
	if s, err := (Workload{}).Open(t.Context(), workload.Config{Params: values(t, map[string]any{"cpus": "5000"})}); err == nil {
		s.Close()
		t.Error("CPU 5000 was opened")
	}
}

// patiently tries what depends on how busy this host is three times, each with a
// longer duration: company that comes and goes does not last through all of them.
func patiently(t *testing.T, first time.Duration, try func(duration time.Duration) error) {
	t.Helper()
	var errs []error
	for k := range 3 {
		duration := first << k
		err := try(duration)
		if err == nil {
			return
		}
		errs = append(errs, fmt.Errorf("in %s: %w", duration, err))
	}
	t.Error(errors.Join(errs...))
}

// first is a CPU that can be used, as text.
func first(t *testing.T) string {
	t.Helper()
	list := testkit.Must(chosen(cpus.All))(t)
	return strconv.Itoa(list[0])
}

// On a clock fixed at half speed steps take twice as long, and their CPU time says
// so; the label is there unless a study gives it.
func TestEmulates(t *testing.T) {
	cpu := first(t)
	run := func(policy string, evidence result.Evidence, duration time.Duration) workload.Sample {
		t.Helper()
		v := values(t, map[string]any{"slice": "10ms", "think": "5ms", "policy": policy, "cpus": cpu})
		v.(*Params).Duration = workload.Span{Duration: duration}
		s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v, Evidence: evidence}))(t)
		defer s.Close()
		got := testkit.Must(s.Run(t.Context(), workload.Request{Params: v}))(t)
		return got
	}
	patiently(t, 200*time.Millisecond, func(duration time.Duration) error {
		own, half := run(none, "", duration), run("fixed:50", "", duration)
		if len(own.Warnings) != 0 || len(half.Warnings) != 1 || !strings.HasPrefix(half.Warnings[0], "emulated: ") {
			t.Errorf("labels: %q, %q", own.Warnings, half.Warnings)
		}
		// Each run's session measures full speed anew, so that demand in operations, and
		// with it the ratio, has the noise of both.
		for name, span := range map[string][2]float64{"cpu_s": {1.5, 2.7}, "demand_s": {0.999, 1.001}} {
			if ratio := half.Values[name] / own.Values[name]; !(ratio >= span[0] && ratio <= span[1]) {
				return fmt.Errorf("%s at half speed: times %.3g", name, ratio)
			}
		}
		return nil
	})
	if got := run("high-performance", result.Emulated, 20*time.Millisecond); len(got.Warnings) != 0 {
		t.Errorf("labelled twice: %q", got.Warnings)
	}
}

// TestCPUOfTheProcess: where no thread has a clock of its own, as on Windows, the process has one.
func TestCPUOfTheProcess(t *testing.T) {
	r := reply{Step: []float64{0.3, 0.4}, CPU: []float64{9, 9}, Waited: []float64{0, 0}, Demand: []float64{0.1, 0.1},
		Steps: 4, Span: 1, Process: 0.2}
	if s, err := sample(r); err != nil || s.Values["cpu_s"] != 0.2 {
		t.Errorf("%v, %v", s.Values, err)
	}
	r.Process = 0
	if s, err := sample(r); err != nil || len(s.Missing["cpu_s"]) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
