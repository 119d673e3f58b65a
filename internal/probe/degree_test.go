//go:build system

package probe

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
	"hostlab/internal/workload/xmlquery"
)

func TestDegrees(t *testing.T) {
	for _, c := range []struct {
		n     int
		limit float64
		want  []int
	}{
		{1, 0, []int{1}}, {2, 0, []int{1, 2}}, {3, 0, []int{1, 2, 3}}, {4, 0, []int{1, 2, 4}}, {6, 0, []int{1, 2, 4, 6}},
		{48, 0, []int{1, 2, 4, 8, 16, 32, 48}}, {64, 1.5, []int{1, 2, 64}}, {64, 0.5, []int{1, 64}}, {4, 3.5, []int{1, 2, 4}},
	} {
		testkit.Is(t, "", cmp.Diff(c.want, degrees(c.n, c.limit)), c.n, "CPUs, limit", c.limit)
	}
}

// Under a quota a run must outlast its periods, or it never meets the limit.
func TestPasses(t *testing.T) {
	quota := cpuLimit{cpus: 1.5, period: 100 * time.Millisecond}
	for _, c := range []struct {
		degree int
		once   time.Duration
		limit  cpuLimit
		want   int
	}{
		{1, 150 * time.Millisecond, cpuLimit{}, 1}, {64, 150 * time.Millisecond, cpuLimit{}, 5},
		{1, 150 * time.Millisecond, quota, 4}, {2, 150 * time.Millisecond, quota, 6}, {64, 150 * time.Millisecond, quota, 6},
	} {
		testkit.Is(t, c.want, passes(c.degree, c.once, c.limit), "degree", c.degree, c.once, "limit", c.limit.cpus)
	}
}

func TestLimitOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	facts := func(file string) *host.Facts {
		f := &host.Facts{}
		f.Limits.CPUQuota = host.Known(1.5, "CPUs", filepath.Join(dir, file))
		return f
	}
	write("cpu.max", "75000 50000\n")
	want := cpuLimit{1.5, filepath.Join(dir, "cpu.stat"), 50 * time.Millisecond}
	testkit.Is(t, want, limitOf(facts("cpu.max"), 4), "version 2")
	write("cpu.cfs_period_us", "20000\n")
	if got := limitOf(facts("cpu.cfs_quota_us"), 4); got.period != 20*time.Millisecond || got.file != want.file {
		t.Errorf("version 1: %+v", got)
	}
	testkit.Is(t, 0, limitOf(facts("cpu.max"), 1).cpus, "a limit above what there is")
	write("cpu.stat", "nr_periods 12\nnr_throttled 7\nthrottled_time 123456\n")
	if got, ok := stopsIn(want.file); !ok || got != (stops{12, 7}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := stopsIn(filepath.Join(dir, "none")); ok {
		t.Error("read a file that is not there")
	}
	write("cpu.stat", "usage_usec 5\n") // a group of version 2 without the controller
	if _, ok := stopsIn(want.file); ok {
		t.Error("counted periods that are not there")
	}
}

// Somebody else has one of two CPUs all the time: what the query loses is not its
// own.
func TestDegreeBesideAHog(t *testing.T) {
	began := time.Now()
	p := degreeProbe{stops: stopsIn, load: func([]int) (map[int]proc.Load, bool) {
		return map[int]proc.Load{0: {Busy: proc.Own()}, 1: {Busy: time.Since(began).Seconds()}}, true
	}}
	out, err := Probe{Name: "degree", run: p.Run}.Run(context.Background(), ioConfig("", 2*time.Second))
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	m := byName(t, out)
	few := m["degree.speedup.2"].Estimate.N < stats.MinBlocks(0.05) // on a busy host
	if l := m["degree.efficiency.2"]; (l.Labels.Disturbed != "") != few ||
		strings.Contains(l.Title, "by their CPU time") == few {
		t.Errorf("efficiency beside others, few rounds %v: %q, disturbed %q", few, l.Title, l.Labels.Disturbed)
	}
	for _, name := range []string{"degree.speedup.2", "degree.throughput.1"} {
		if got := m[name].Labels.Disturbed; !strings.Contains(got, "other work took more than 2 %") ||
			len(m[name].Warnings) == 0 {
			t.Errorf("%s: disturbed %q, warnings %q", name, got, m[name].Warnings)
		}
	}
	p.load = func([]int) (map[int]proc.Load, bool) {
		return map[int]proc.Load{0: {Busy: proc.Own()}, 1: {}}, true
	}
	out = testkit.Must((Probe{Name: "degree", run: p.Run}).Run(context.Background(), ioConfig("", 2*time.Second)))(t)
	testkit.Is(t, "", byName(t, out)["degree.speedup.2"].Labels.Disturbed, "alone, and")
}

func TestDegreeRun(t *testing.T) {
	cfg := ioConfig("", 3*time.Second)
	cfg.CPUs = []int{0, 1, 2} // the third may not exist: the degree is what counts here
	procs, gc := runtime.GOMAXPROCS(0), debug.SetGCPercent(100)
	out, err := one("degree").Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	testkit.Is(t, procs, runtime.GOMAXPROCS(0), "GOMAXPROCS is")
	testkit.Is(t, 100, debug.SetGCPercent(gc), "GC percent is", "was 100")
	m := byName(t, out)
	for _, name := range []string{"degree.throughput.1", "degree.speedup.2", "degree.efficiency.2", "degree.speedup.3",
		"degree.efficiency.3"} {
		if x := m[name]; !x.Known() || x.Estimate.Value <= 0 || x.Estimate.N < 1 {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if m["degree.speedup.2"].Estimate.Value > 4 {
		t.Errorf("2 workers are %v times as fast as one", m["degree.speedup.2"].Estimate.Value)
	}
	if len(m) != 5 || m["degree.speedup.3"].Labels.Degree != 3 {
		t.Errorf("%d measurements", len(m))
	}
}

func TestDegreeOnOneCPU(t *testing.T) {
	cfg := ioConfig("", time.Second)
	cfg.CPUs = []int{3}
	out, err := one("degree").Run(context.Background(), cfg)
	if err != nil || !strings.Contains(out.Skipped, "one CPU") || len(out.Measurements) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestDegreeIsCancelled(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 700 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		_, err := one("degree").Run(ctx, ioConfig("", time.Minute))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
	}
}

// summed runs summarise over rounds that are made up: two workers take half the
// time and 10 % more, four no less than two. Every third round is slow throughout.
func summed(t *testing.T, change func(*degreeRun)) (Outcome, map[string]result.Measurement) {
	t.Helper()
	r := &degreeRun{cfg: Config{CPUs: []int{0, 1, 2, 3}, Alpha: 0.05}, table: xmlquery.NewTable(make([]byte, 24<<20)),
		conds: []condition{{degree: 1}, {degree: 1}, {degree: 2}, {degree: 4}}}
	for i := range 12 {
		drift := 1 + 0.1*float64(i%3) // of the host: in every condition of a round alike
		r.rounds = append(r.rounds, degreeRound{seconds: []float64{0.100 * drift, 0.100 * drift, 0.055 * drift,
			0.055 * drift}, cpu: []float64{0.1, 0.1, 0.11, 0.125},
			stops: make([]*stops, 4), foreign: 0.01})
	}
	if change != nil {
		change(r)
	}
	out := Outcome{Probe: "degree"}
	r.summarise(&out)
	settle(out.Measurements)
	return out, byName(t, out)
}

func TestDegreeSummary(t *testing.T) {
	out, m := summed(t, nil)
	for name, want := range map[string]float64{"degree.speedup.2": 1 / 0.55, "degree.efficiency.2": 0.5 / 0.55,
		"degree.speedup.4": 1 / 0.55, "degree.efficiency.4": 0.25 / 0.55} {
		if got := m[name].Estimate.Value; math.Abs(got-want) > 1e-9 || !m[name].Estimate.HasInterval() ||
			m[name].NoiseFloor > 1e-9 {
			t.Errorf("%s = %+v, want %v with an interval and no noise", name, m[name].Estimate, want)
		}
	}
	if got, want := m["degree.throughput.1"].Estimate.Value, 24*(1<<20)/0.11; math.Abs(got/want-1) > 0.02 {
		t.Errorf("throughput %v B/s, want %v", got, want)
	}
	if len(out.Warnings) != 0 || len(m["degree.speedup.4"].Warnings) != 0 {
		t.Errorf("warnings %q, %q", out.Warnings, m["degree.speedup.4"].Warnings)
	}
}

// What the quota did is the kernel's count, or it is not known.
func TestDegreeUnderQuota(t *testing.T) {
	with := func(s *stops) func(*degreeRun) {
		return func(r *degreeRun) {
			r.limit = cpuLimit{cpus: 2.5, file: "/sys/fs/cgroup/cpu.stat", period: 100 * time.Millisecond}
			for i := range r.rounds {
				r.rounds[i].stops = slices.Repeat([]*stops{s}, len(r.conds))
			}
		}
	}
	out, m := summed(t, with(&stops{6, 4}))
	if x := m["degree.speedup.4"]; !x.Known() || x.Labels.Quota != 2.5 || x.Labels.Throttled != "48 of 72" ||
		len(x.Warnings) != 1 {
		t.Errorf("stopped in 48 of 72: %+v %v", x.Estimate, x.Labels)
	}
	if x := m["degree.speedup.2"]; !x.Known() || x.Labels.Quota != 0 || len(x.Warnings) != 0 {
		t.Errorf("below the quota: %+v", x)
	}
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "2.5 of 4 CPUs") ||
		!strings.Contains(out.Warnings[0], "48 of 72 periods") {
		t.Errorf("warnings %q", out.Warnings)
	}
	_, m = summed(t, with(&stops{1, 0}))
	if x := m["degree.efficiency.4"]; x.Known() || !strings.Contains(x.Reason, "too short") || x.Labels.Quota != 2.5 {
		t.Errorf("one period a run: %+v", x)
	}
	_, m = summed(t, with(nil))
	if x := m["degree.speedup.4"]; x.Known() || !strings.Contains(x.Reason, "/sys/fs/cgroup/cpu.stat cannot be read") {
		t.Errorf("no count: %+v", x)
	}
}

// Rounds that others disturbed are left out while enough are left.
func TestDegreeLeavesDisturbedOut(t *testing.T) {
	_, m := summed(t, func(r *degreeRun) {
		for i := range 5 {
			r.rounds[i].foreign = 0.3
			r.rounds[i].seconds[3] *= 3
		}
	})
	if x := m["degree.speedup.4"]; x.Estimate.N != 7 || math.Abs(x.Estimate.Value-1/0.55) > 1e-9 ||
		x.Labels.Disturbed != "" {
		t.Errorf("%+v %v", x.Estimate, x.Labels)
	}
	_, m = summed(t, func(r *degreeRun) {
		for i := range 8 {
			r.rounds[i].foreign = 0.3
		}
	})
	if x := m["degree.speedup.4"]; x.Estimate.N != 12 || !strings.Contains(x.Labels.Disturbed,
		"in 8 of 12 rounds, and 30 % in half of them") {
		t.Errorf("%+v %v", x.Estimate, x.Labels)
	}
	// What four workers lose shows in their CPU time then: a quarter more than one takes.
	if x := m["degree.efficiency.4"]; math.Abs(x.Estimate.Value-0.8) > 1e-9 || x.Labels.Disturbed != "" ||
		!strings.Contains(x.Title, "by their CPU time") {
		t.Errorf("efficiency %+v %v %q", x.Estimate, x.Labels, x.Title)
	}
	// A hypervisor's pause in one of few rounds is CPU time, too: the workers' speed-up stands then, with its warning.
	_, m = summed(t, func(r *degreeRun) {
		r.rounds = r.rounds[:1]
		r.rounds[0].foreign, r.rounds[0].cpu[0] = 0.3, 0.9
	})
	if x := m["degree.efficiency.4"]; math.Abs(x.Estimate.Value-0.25/0.55) > 1e-9 || x.Labels.Disturbed == "" ||
		len(x.Warnings) != 1 {
		t.Errorf("efficiency of one round %+v %v %q", x.Estimate, x.Labels, x.Warnings)
	}
}
