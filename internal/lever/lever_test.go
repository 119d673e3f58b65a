package lever

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

var nan = math.NaN()

// ratio makes a measurement with an interval.
func ratio(name string, v, lo, hi, floor float64) result.Measurement {
	labels := map[string]string{}
	if _, cpu, ok := strings.Cut(name, ".cpu"); ok {
		labels["cpu"] = cpu
	}
	if d, ok := strings.CutPrefix(name, "degree.efficiency."); ok {
		labels["degree"] = d
	}
	p, _, _ := strings.Cut(name, ".")
	return result.Measurement{Probe: p, Name: name, Unit: "ratio", NoiseFloor: floor, Evidence: result.Measured,
		Estimate: &result.Estimate{Value: v, Low: lo, High: hi, N: 24}, Labels: labels}
}

func seconds(name string, v float64) result.Measurement {
	m := ratio(name, v, v*0.9, v*1.1, nan)
	m.Unit = "s"
	return m
}

func unknown(name, reason string) result.Measurement {
	m := ratio(name, 0, 0, 0, nan)
	m.Estimate, m.Reason = nil, reason
	return m
}

func skipped(name, why string) []probe.Outcome {
	return []probe.Outcome{{Probe: name, Skipped: why}}
}

func ran(ms ...result.Measurement) []probe.Outcome {
	return []probe.Outcome{{Probe: "any", Measurements: ms}}
}

func finding(lever, id, severity, path, remedy string) check.Result {
	return check.Result{ID: id, Lever: lever, Severity: severity, Status: check.Finding, Title: "Governor saves energy",
		Evidence: []check.Evidence{{Path: path, Value: "x"}}, Remedy: remedy}
}

func answer(lever string, s check.Status) check.Result {
	return check.Result{ID: "CHK-" + string(s), Lever: lever, Status: s, Severity: "medium"}
}

// bare metal has a policy and a deep idle state; a guest has neither.
func metal() *host.Facts {
	return &host.Facts{
		Frequency: host.Frequency{Policies: []host.Policy{{Governor: host.Known("powersave", "", "/sys")}}},
		Idle: host.Idle{States: []host.IdleState{
			{Index: 1, Name: host.Known("C1", "", ""), Latency: host.Known(2e-6, "s", ""), CPUs: []int{0, 1}},
			{Index: 3, Name: host.Known("C6", "", ""), Latency: host.Known(133e-6, "s", ""), CPUs: []int{0, 1}},
		}},
		Virt: host.Virt{Hypervisor: host.Known("none", "", "")},
	}
}

func limited() *host.Facts {
	f := metal()
	f.Idle.DMALatency = host.Known(5e-6, "s", "/dev/cpu_dma_latency")
	return f
}

func guest() *host.Facts {
	return &host.Facts{Virt: host.Virt{Hypervisor: host.Known("kvm", "", "")}}
}

const governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

func TestDecisions(t *testing.T) {
	slow := ran(ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02))
	tests := []struct {
		name     string
		lever    string
		role     check.Role
		facts    *host.Facts
		results  []check.Result
		outcomes []probe.Outcome
		want     Verdict
		evidence result.Evidence
		says     []string // in Summary or Next
		bound    float64  // -1: unknown
	}{
		{name: "penalty beyond noise, governor found", lever: check.LeverFrequency, facts: metal(), outcomes: slow,
			results: []check.Result{finding(check.LeverFrequency, "PWR-001", "high", governor, "cpupower frequency-set -g performance")},
			want:    Worthwhile, evidence: result.Measured, says: []string{"1.42x", "cpupower frequency-set -g performance"}, bound: 1 - 1/1.55},
		{name: "penalty in a guest without a knob", lever: check.LeverFrequency, facts: guest(), outcomes: slow,
			want: Worthwhile, evidence: result.Measured, says: []string{"no knob", "whoever runs the kvm hypervisor"}, bound: 1 - 1/1.55},
		{name: "penalty, nothing found", lever: check.LeverFrequency, facts: metal(), outcomes: slow,
			want: Worthwhile, evidence: result.Measured, says: []string{"firmware", "hostlab facts"}, bound: 1 - 1/1.55},
		{name: "penalty in development", lever: check.LeverFrequency, role: check.Development, facts: metal(), outcomes: slow,
			want: NotForRole, evidence: result.Measured, says: []string{"1.42x", "energy"}, bound: 1 - 1/1.55},
		{name: "interval contains 1", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.98, 1.2, 0.01)),
			want:     Unresolved, evidence: result.Measured, says: []string{"includes no effect", "hostlab assess --role production-db"}, bound: 1 - 1/1.2},
		{name: "penalty below the floor", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 1.06, 1.14, 0.2)),
			want:     Unresolved, evidence: result.Measured, says: []string{"noise"}, bound: 1 - 1/1.14},
		{name: "no noise floor", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.5, 1.4, 1.6, nan)),
			want:     Unresolved, evidence: result.Measured, says: []string{"no noise floor"}, bound: 1 - 1/1.6},
		{name: "no interval", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.5, nan, nan, 0.01)),
			want:     Unresolved, evidence: result.Measured, says: []string{"too few rounds"}, bound: -1},
		{name: "certain but under the margin", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.03, 1.02, 1.04, 0.005)),
			want:     NoEffect, evidence: result.Measured, says: []string{"nothing that matters"}, bound: 1 - 1/1.04},
		{name: "certain, straddles the margin", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.05, 1.03, 1.08, 0.005)),
			want:     Unresolved, evidence: result.Measured, says: []string{"less than 5 %"}, bound: 1 - 1/1.08},
		{name: "too noisy for no effect", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.2)),
			want:     Unresolved, evidence: result.Measured, bound: 1 - 1/1.01},
		{name: "one of twelve by luck", lever: check.LeverFrequency, facts: metal(), outcomes: ran(luckyTwelve()...),
			want: Unresolved, evidence: result.Measured, says: []string{"only 1 of 12", "chance"}, bound: 1 - 1/1.2},
		{name: "no effect, but a governor is found", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)),
			results:  []check.Result{finding(check.LeverFrequency, "PWR-001", "high", governor, "do")},
			want:     NoEffect, evidence: result.Measured, says: []string{"hostlab explain-check PWR-001"}, bound: 1 - 1/1.01},
		{name: "no effect, but a cap is found", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)),
			results:  []check.Result{finding(check.LeverFrequency, "PWR-007", "high", "/sys/.../no_turbo", "echo 0 > no_turbo")},
			want:     Recommended, evidence: result.Measured, says: []string{"PWR-007", "cannot see", "echo 0"}, bound: 1 - 1/1.01},
		{name: "undecided, finding", lever: check.LeverFrequency, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.98, 1.2, 0.01)),
			results:  []check.Result{finding(check.LeverFrequency, "PWR-001", "low", governor, "do")},
			want:     Recommended, evidence: result.Measured, says: []string{"does not decide"}, bound: 1 - 1/1.2},
		{name: "skipped, all checks pass", lever: check.LeverFrequency, facts: metal(), outcomes: skipped("wakeup", "interrupted"),
			results: []check.Result{answer(check.LeverFrequency, check.OK)},
			want:    Settled, evidence: result.Cited, says: []string{"as it should be", "interrupted"}, bound: -1},
		{name: "skipped, info finding only", lever: check.LeverFrequency, facts: metal(),
			results: []check.Result{finding(check.LeverFrequency, "PWR-009", "info", "x", "do")},
			want:    Settled, evidence: result.Cited, bound: -1},
		{name: "skipped, check could not look", lever: check.LeverFrequency, facts: metal(),
			results: []check.Result{answer(check.LeverFrequency, check.Unknown)},
			want:    Untestable, says: []string{"could not look", "explain-check CHK-unknown"}, bound: -1},
		{name: "nothing at all", lever: check.LeverFrequency, want: Untestable, says: []string{"hostlab assess"}, bound: -1},

		{name: "cold caches with a deep state", lever: check.LeverIdle, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.01, 1.0, 1.02, 0.01), ratio("wakeup.mixed.10ms.cpu0", 1.5, 1.4, 1.6, 0.01)),
			want:     Worthwhile, evidence: result.Measured, says: []string{"beyond what frequency costs"}, bound: 1 - 1/1.6},
		{name: "cold caches in development", lever: check.LeverIdle, facts: metal(), role: check.Development,
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.01, 1.0, 1.02, 0.01), ratio("wakeup.mixed.10ms.cpu0", 1.5, 1.4, 1.6, 0.01)),
			want:     NotForRole, evidence: result.Measured, bound: 1 - 1/1.6},
		{name: "cold caches in a guest", lever: check.LeverIdle, facts: guest(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.01, 1.0, 1.02, 0.01), ratio("wakeup.mixed.10ms.cpu0", 1.5, 1.4, 1.6, 0.01)),
			want:     Unresolved, evidence: result.Measured, says: []string{"other tenants"}, bound: 1 - 1/1.6},
		{name: "no measurement, cited latency", lever: check.LeverIdle, facts: metal(),
			results: []check.Result{finding(check.LeverIdle, "PWR-020", "medium", "x", "limit it")},
			want:    Recommended, evidence: result.Cited, says: []string{"PWR-020", "limit it"}, bound: 133e-6 / (133e-6 + 0.010)},
		{name: "latency limit keeps C6 out", lever: check.LeverIdle, facts: limited(), want: Untestable, says: []string{"did not run"}, bound: 2e-6 / (2e-6 + 0.010)},
		{name: "mixed without its arithmetic", lever: check.LeverIdle, facts: guest(),
			outcomes: ran(ratio("wakeup.mixed.10ms.cpu0", 1.5, 1.4, 1.6, 0.01)),
			want:     Untestable, bound: -1},
		{name: "warm", lever: check.LeverIdle, facts: metal(),
			outcomes: ran(ratio("wakeup.alu.10ms.cpu0", 1.01, 1.0, 1.02, 0.01), ratio("wakeup.mixed.10ms.cpu0", 1.01, 1.0, 1.02, 0.01)),
			want:     NoEffect, evidence: result.Measured, bound: 1 - 1/1.02},

		{name: "sibling harms", lever: check.LeverSMT, facts: metal(),
			outcomes: ran(ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02), ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02)),
			want:     Worthwhile, evidence: result.Measured, says: []string{"55 %", "98 %", "different cores"}, bound: 0.5},
		{name: "other core harms alike", lever: check.LeverSMT, facts: metal(),
			outcomes: ran(ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02), ratio("siblings.harm.other", 0.56, 0.5, 0.62, 0.02)),
			want:     Unresolved, evidence: result.Measured, says: []string{"another core"}, bound: 0.5},
		{name: "other core not measured", lever: check.LeverSMT, facts: metal(),
			outcomes: ran(ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02)),
			want:     Unresolved, evidence: result.Measured, says: []string{"was not measured"}, bound: 0.5},
		{name: "sibling harmless", lever: check.LeverSMT, facts: metal(),
			outcomes: ran(ratio("siblings.harm.sibling", 1, 0.98, 1.01, 0.02)),
			want:     NoEffect, evidence: result.Measured, bound: 1 - 0.98},
		{name: "sibling noisy", lever: check.LeverSMT, facts: metal(),
			outcomes: ran(ratio("siblings.harm.sibling", 0.8, 0.7, 0.88, 0.5)),
			want:     Unresolved, evidence: result.Measured, says: []string{"too noisy"}, bound: 1 - 0.7},
		{name: "no siblings", lever: check.LeverSMT, facts: guest(),
			outcomes: ran(unknown("siblings.harm.sibling", "untestable here: no two CPUs share a core")),
			results:  []check.Result{answer(check.LeverSMT, check.OK)},
			want:     Untestable, says: []string{"no two CPUs share a core"}, bound: -1},

		{name: "slow commits", lever: check.LeverLog, facts: guest(),
			outcomes: ran(seconds("commit.p50", 80e-6), seconds("commit.memory.p50", 4e-6), ratio("commit.gain", 0.05, 0.04, 0.06, 0.01)),
			want:     Unresolved, evidence: result.Measured, says: []string{"80", "WALSync"}, bound: 0.96},
		{name: "slow commits, PostgreSQL", lever: check.LeverLog, facts: &host.Facts{Databases: []host.Database{{Kind: "postgresql"}}},
			outcomes: ran(seconds("commit.p50", 80e-6), seconds("commit.memory.p50", 4e-6)),
			want:     Unresolved, evidence: result.Measured, says: []string{"psql"}, bound: 0.95},
		{name: "commits as in memory", lever: check.LeverLog, facts: guest(),
			outcomes: ran(seconds("commit.p50", 4e-6), seconds("commit.memory.p50", 4e-6), ratio("commit.gain", 1, 0.98, 1.02, 0.01)),
			want:     NoEffect, evidence: result.Measured, bound: 1 - 0.98},
		{name: "no tmpfs", lever: check.LeverLog, facts: guest(), outcomes: ran(seconds("commit.p50", 4e-6)),
			want: Unresolved, evidence: result.Measured, bound: -1},
		{name: "commits of an application server", lever: check.LeverLog, facts: guest(), role: check.ProductionApp,
			outcomes: ran(seconds("commit.p50", 80e-6), seconds("commit.memory.p50", 4e-6)),
			want:     NotForRole, evidence: result.Measured, says: []string{"database server"}, bound: 0.95},
		{name: "commit skipped", lever: check.LeverLog, facts: guest(), outcomes: skipped("commit", "no space left in /db"),
			results: []check.Result{finding(check.LeverLog, "STO-001", "medium", "x", "mount it otherwise")},
			want:    Recommended, evidence: result.Cited, says: []string{"no space left in /db", "mount it otherwise"}, bound: -1},

		{name: "slower at all CPUs than at some", lever: check.LeverDegree, facts: metal(),
			outcomes: ran(ratio("degree.efficiency.2", 0.95, 0.93, 0.97, 0.01), ratio("degree.efficiency.4", 0.4, 0.38, 0.42, 0.01)),
			want:     Worthwhile, evidence: result.Measured, says: []string{"4 CPUs do the work of 1.6", "MAXDOP 2"}, bound: 0.62},
		{name: "slower at all CPUs than alone", lever: check.LeverDegree, facts: &host.Facts{Databases: []host.Database{{Kind: "postgresql"}}},
			outcomes: ran(ratio("degree.efficiency.2", 0.4, 0.38, 0.42, 0.01)),
			want:     Worthwhile, evidence: result.Measured, says: []string{"faster at degree 1", "max_parallel_workers_per_gather = 0"}, bound: 0.62},
		{name: "poor efficiency, still faster", lever: check.LeverDegree, facts: metal(),
			outcomes: ran(ratio("degree.efficiency.2", 0.95, 0.93, 0.97, 0.01), ratio("degree.efficiency.4", 0.5, 0.45, 0.55, 0.01)),
			want:     Unresolved, evidence: result.Measured, says: []string{"4 CPUs do the work of 2.0", "still gains"}, bound: 0.55},
		{name: "good efficiency", lever: check.LeverDegree, facts: metal(),
			outcomes: ran(ratio("degree.efficiency.2", 1, 0.98, 1.01, 0.01)),
			want:     NoEffect, evidence: result.Measured, says: []string{"2 CPUs do the work of 2.0"}, bound: 1 - 0.98},
		{name: "efficiency unclear", lever: check.LeverDegree, facts: metal(),
			outcomes: ran(ratio("degree.efficiency.2", 0.9, 0.7, 1.05, 0.01)),
			want:     Unresolved, evidence: result.Measured, bound: 1 - 0.7},
		{name: "one CPU", lever: check.LeverDegree, facts: guest(), outcomes: ran(ratio("degree.efficiency.1", 1, 1, 1, 0.01)),
			want: Untestable, says: []string{"one CPU"}, bound: -1},

		{name: "memory found", lever: check.LeverMemory, facts: metal(),
			results: []check.Result{finding(check.LeverMemory, "MEM-001", "low", "x", "later"), finding(check.LeverMemory, "MEM-002", "high", "x", "sooner")},
			want:    Recommended, evidence: result.Cited, says: []string{"2 settings differ", "MEM-002", "sooner"}, bound: -1},
		{name: "kernel settled", lever: check.LeverKernel, facts: metal(),
			results: []check.Result{answer(check.LeverKernel, check.OK), answer(check.LeverKernel, check.Unknown)},
			want:    Settled, evidence: result.Cited, says: []string{"CHK-unknown could not look"}, bound: -1},
		{name: "kernel not applicable", lever: check.LeverKernel, facts: metal(),
			results: []check.Result{answer(check.LeverKernel, check.NotApplicable)},
			want:    Untestable, bound: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			role := tt.role
			if role == "" {
				role = check.ProductionDB
			}
			var got *Lever
			for _, l := range Join(role, tt.facts, tt.results, tt.outcomes) {
				if l.Name == tt.lever {
					got = &l
				}
			}
			if got == nil {
				t.Fatalf("no lever %s", tt.lever)
			}
			if got.Verdict != tt.want || got.Evidence != tt.evidence {
				t.Errorf("verdict %s (%s), want %s (%s); summary: %s", got.Verdict, got.Evidence, tt.want, tt.evidence, got.Summary)
			}
			for _, s := range tt.says {
				if !strings.Contains(got.Summary+"\n"+got.Next, s) {
					t.Errorf("neither summary nor next says %q:\n%s\n%s", s, got.Summary, got.Next)
				}
			}
			b := -1.0
			if got.Bound != nil {
				b = *got.Bound
			}
			if math.Abs(b-tt.bound) > 1e-9 {
				t.Errorf("bound %v, want %v", b, tt.bound)
			}
			if got.BoundWhy == "" || got.BoundOf == "" || got.Summary == "" || got.Title == "" {
				t.Errorf("a lever with an empty text: %+v", *got)
			}
		})
	}
}

func luckyTwelve() []result.Measurement {
	ms := []result.Measurement{ratio("wakeup.alu.10ms.cpu0", 1.15, 1.1, 1.2, 0.01)}
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		ms = append(ms, ratio("wakeup.alu.10ms.cpu"+n, 1.0, 0.95, 1.05, 0.01))
	}
	return ms
}

func TestOrderAndNames(t *testing.T) {
	var got []string
	for _, l := range Join(check.ProductionDB, nil, nil, nil) {
		got = append(got, l.Name)
	}
	want := []string{check.LeverFrequency, check.LeverIdle, check.LeverSMT, check.LeverLog, check.LeverDegree, check.LeverMemory, check.LeverKernel}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The binomial tail for k intervals of which each excludes 1 by chance in 2.5 %.
func TestNeeded(t *testing.T) {
	for k, want := range map[int]int{1: 1, 2: 1, 3: 2, 14: 2, 15: 3, 100: 6} {
		if got := needed(k); got != want {
			t.Errorf("needed(%d) = %d, want %d", k, got, want)
		}
	}
}

// Whatever was measured, no lever is worthwhile whose deciding interval includes
// no effect or does not clear the noise floor, and a bound is a share.
func TestNeverWorthwhileWithinNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"wakeup.alu.10ms.cpu0", "wakeup.alu.30ms.cpu0", "wakeup.mixed.10ms.cpu0", "siblings.harm.sibling",
			"siblings.harm.other", "commit.p50", "commit.memory.p50", "commit.gain", "degree.efficiency.2", "degree.efficiency.4"}
		number := rapid.OneOf(rapid.Float64Range(0.01, 3), rapid.Just(nan))
		var ms []result.Measurement
		for _, n := range names {
			v := rapid.Float64Range(0.01, 3).Draw(t, n)
			lo, hi, floor := number.Draw(t, "below"), number.Draw(t, "above"), number.Draw(t, "floor")
			m := ratio(n, v, v/(1+lo), v*(1+hi), floor)
			if rapid.IntRange(0, 9).Draw(t, "known") == 0 {
				m.Estimate = nil
			}
			ms = append(ms, m)
		}
		facts := rapid.SampledFrom([]*host.Facts{nil, metal(), guest()}).Draw(t, "facts")
		role := rapid.SampledFrom(check.Roles).Draw(t, "role")
		levers := Join(role, facts, nil, ran(ms...))
		for _, l := range levers {
			if l.Bound != nil && !(*l.Bound >= 0 && *l.Bound <= 1) {
				t.Fatalf("%s: bound %v", l.Name, *l.Bound)
			}
			if l.Verdict != Worthwhile {
				continue
			}
			if role == check.Development && (l.Name == check.LeverFrequency || l.Name == check.LeverIdle) {
				t.Fatalf("%s is advised in development", l.Name)
			}
			m := l.Measurement
			if m == nil || !m.Known() || !m.Estimate.HasInterval() {
				t.Fatalf("%s is worthwhile without an interval", l.Name)
			}
			up, down := m.Estimate.Low-1, 1-m.Estimate.High
			if !(max(up, down) > m.NoiseFloor) {
				t.Fatalf("%s is worthwhile with %s and a floor of %v", l.Name, Figure(m), m.NoiseFloor)
			}
		}
		if VerdictLine(role, levers) == "" {
			t.Fatal("no verdict line")
		}
	})
}

func TestVerdictLine(t *testing.T) {
	slow := ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02)
	found := []check.Result{finding(check.LeverMemory, "MEM-001", "low", "x", "do"), finding(check.LeverKernel, "KRN-001", "high", "x", "do")}
	tests := []struct {
		name    string
		role    check.Role
		results []check.Result
		ms      []result.Measurement
		starts  string
		has     []string
	}{
		{"worthwhile", check.ProductionDB, nil, []result.Measurement{slow}, "Yes,", []string{"1.42x [1.31x, 1.55x], n 24", "Start with the frequency policy"}},
		{"development", check.Development, nil, []result.Measurement{slow}, "The power policy measurably costs", []string{"saves energy", "Change nothing."}},
		{"recommended, worst first", check.ProductionDB, found, nil, "No cost could be established", []string{"Look at the kernel limits first", "KRN-001"}},
		{"unresolved", check.ProductionDB, nil, []result.Measurement{ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01)}, "This run cannot tell", []string{"frequency policy", "quieter"}},
		{"no", check.ProductionDB, nil, []result.Measurement{ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)}, "No:", nil},
		{"blind", check.ProductionDB, nil, nil, "This host shows too little", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := VerdictLine(tt.role, Join(tt.role, metal(), tt.results, ran(tt.ms...)))
			if !strings.HasPrefix(got, tt.starts) {
				t.Errorf("got %q, want it to start with %q", got, tt.starts)
			}
			for _, s := range tt.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q does not say %q", got, s)
				}
			}
		})
	}
}
