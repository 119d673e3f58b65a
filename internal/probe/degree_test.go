package probe

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/workload/xmlquery"
)

func TestDegrees(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 6: {1, 2, 4, 6}, 48: {1, 2, 4, 8, 16, 32, 48}} {
		if diff := cmp.Diff(want, degrees(n)); diff != "" {
			t.Errorf("%d CPUs: %s", n, diff)
		}
	}
}

func TestDegreeRun(t *testing.T) {
	cfg := ioConfig("", 3*time.Second)
	cfg.CPUs = []int{0, 1, 2} // the third may not exist: the degree is what counts here
	procs, gc := runtime.GOMAXPROCS(0), debug.SetGCPercent(100)
	out, err := NewDegree().Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", got, procs)
	}
	if got := debug.SetGCPercent(gc); got != 100 {
		t.Errorf("GC percent is %d, was 100", got)
	}
	m := byName(t, out)
	for _, name := range []string{"degree.throughput.1", "degree.speedup.2", "degree.efficiency.2", "degree.speedup.3", "degree.efficiency.3"} {
		if x := m[name]; !x.Known() || x.Estimate.Value <= 0 || x.Estimate.N < 1 {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if m["degree.speedup.2"].Estimate.Value > 4 {
		t.Errorf("2 workers are %v times as fast as one", m["degree.speedup.2"].Estimate.Value)
	}
	if len(m) != 5 || m["degree.speedup.3"].Labels["degree"] != "3" {
		t.Errorf("%d measurements", len(m))
	}
}

func TestDegreeOnOneCPU(t *testing.T) {
	cfg := ioConfig("", time.Second)
	cfg.CPUs = []int{3}
	out, err := NewDegree().Run(context.Background(), cfg)
	if err != nil || !strings.Contains(out.Skipped, "one CPU") || len(out.Measurements) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestDegreeIsCancelled(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 700 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		began := time.Now()
		_, err := NewDegree().Run(ctx, ioConfig("", time.Minute))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
		if late := time.Since(began) - after; late > 2*time.Second {
			t.Errorf("returned %v after it was cancelled", late)
		}
	}
}

// TestDegreeSummary checks the arithmetic on times that are made up: two workers
// take half the time and 10 % more, four no less than two, above the quota.
func TestDegreeSummary(t *testing.T) {
	conds := []condition{{degree: 1}, {degree: 1}, {degree: 2}, {degree: 4}}
	for i := range 12 {
		drift := 1 + 0.1*float64(i%3) // of the host: in every condition of a round alike
		for c, s := range []float64{0.100, 0.100, 0.055, 0.055} {
			conds[c].times = append(conds[c].times, s*drift)
		}
	}
	cfg := Config{CPUs: []int{0, 1, 2, 3}, Alpha: 0.05, Facts: &host.Facts{}}
	cfg.Facts.Limits.CPUQuota = host.Known(2.5, "", "/sys/fs/cgroup/cpu.max")
	out := Outcome{Probe: "degree"}
	summariseDegrees(&out, cfg, xmlquery.NewTable(make([]byte, 24<<20)), conds)
	m := byName(t, out)
	for name, want := range map[string]float64{"degree.speedup.2": 1 / 0.55, "degree.efficiency.2": 0.5 / 0.55,
		"degree.speedup.4": 1 / 0.55, "degree.efficiency.4": 0.25 / 0.55} {
		if got := m[name].Estimate.Value; math.Abs(got-want) > 1e-9 || !m[name].Estimate.HasInterval() || m[name].NoiseFloor > 1e-9 {
			t.Errorf("%s = %+v, want %v with an interval and no noise", name, m[name].Estimate, want)
		}
	}
	if got, want := m["degree.throughput.1"].Estimate.Value, 24*(1<<20)/0.11; math.Abs(got/want-1) > 0.02 {
		t.Errorf("throughput %v B/s, want %v", got, want)
	}
	if len(m["degree.speedup.2"].Warnings) != 0 || len(m["degree.speedup.4"].Warnings) != 1 || m["degree.speedup.4"].Labels["quota"] != "2.5" {
		t.Errorf("the quota of 2.5 CPUs: %v, %v", m["degree.speedup.2"].Warnings, m["degree.speedup.4"])
	}
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "2.5 of 4 CPUs") {
		t.Errorf("warnings %q", out.Warnings)
	}
}
