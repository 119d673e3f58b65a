package lever

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

var nan = math.NaN()

// ratio makes a measurement with an interval.
func ratio(name string, v, lo, hi, floor float64) result.Measurement {
	m := result.Measurement{Name: name, Unit: "ratio", NoiseFloor: floor, Evidence: result.Measured,
		Estimate: &result.Estimate{Value: v, Low: lo, High: hi, N: 24}}
	parts := strings.Split(name, ".")
	m.Probe = parts[0]
	var kind []string
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(part, "cpu"), "ms"))
		switch {
		case err != nil:
			kind = append(kind, part)
		case strings.HasPrefix(part, "cpu"):
			m.Labels.CPU = new(n)
		case strings.HasSuffix(part, "ms"):
			m.Labels.Slice = float64(n) / 1000
		default:
			m.Labels.Degree = n
		}
	}
	m.Kind = result.Kind(strings.Join(kind, "."))
	return m
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

// beside is ran while other work took 63 % of the CPUs.
func beside(ms ...result.Measurement) []probe.Outcome {
	return []probe.Outcome{{Probe: "wakeup", Busy: 0.63, Measurements: ms}}
}

func finding(lever, id, severity, path, remedy string) check.Result {
	return check.Result{ID: id, Subject: lever, Severity: check.Severity(slices.Index(check.Severities, severity)),
		Status: check.Finding, Title: "Governor saves energy",
		Evidence: []check.Evidence{{Path: path, Value: "x"}}, Remedy: remedy}
}

func answer(lever string, s check.Status) check.Result {
	return check.Result{ID: "CHK-" + string(s), Subject: lever, Status: s, Severity: check.Medium}
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

// with adds a label.
func with(m result.Measurement, label, value string) result.Measurement {
	if err := json.Unmarshal(fmt.Appendf(nil, `{%q: %q}`, label, value), &m.Labels); err != nil {
		panic(err)
	}
	return m
}

func hertz(name string, v float64) result.Measurement {
	m := ratio(name, v, v*0.99, v*1.01, nan)
	m.Unit = "Hz"
	return m
}

// wakes are the lateness of a wake-up in us and its control.
func wakes(late, control float64) []result.Measurement {
	return []result.Measurement{seconds("wakeup.latency.p50.cpu0", late*1e-6),
		seconds("wakeup.latency.floor.cpu0", control*1e-6)}
}

// decision is a row: what is known, and what must become of one lever.
type decision struct {
	name     string
	lever    string
	role     check.Role // production-db where empty
	facts    *host.Facts
	results  []check.Result
	outcomes []probe.Outcome
	want     Reason
	evidence result.Evidence
	says     []string // in Summary or Next
	never    []string // in neither
	bound    float64  // -1: unknown
	from     Basis    // where the bound is from; not compared where empty
	why      string   // in BoundWhy
	cost     bool
}

func decisions(t *testing.T, tests []decision) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			role := cmp.Or(tt.role, check.ProductionDB)
			var got *draft
			for _, d := range newInput(role, tt.facts, tt.results, tt.outcomes).judge() {
				if d.name == tt.lever {
					got = d
				}
			}
			if got == nil {
				t.Fatalf("no lever %s", tt.lever)
			}
			l := got.lever()
			owner := ""
			if got.owner != "" {
				owner = got.owner + " sets it, not this host"
			}
			said := owner + "\n" + got.checks + "\n" + got.text + "\n" + got.next.Command + "\n" + got.next.Note
			if got.reason != tt.want && (tt.want != undecided || !got.reason.open()) || l.Kind() != tt.evidence ||
				got.cost != tt.cost {
				t.Errorf("reason %s (%s, cost %v), want %s (%s, cost %v): %s", got.reason, l.Kind(), got.cost, tt.want, tt.evidence,
					tt.cost, said)
			}
			if got.reason.open() && (l.Verdict == Possible) != (l.AtMost != nil) {
				t.Errorf("%s with a bound of %v", l.Verdict, l.AtMost)
			}
			for _, s := range tt.says {
				testkit.Has(t, said, s)
			}
			for _, s := range tt.never {
				if strings.Contains(said, s) {
					t.Errorf("says %q:\n%s", s, said)
				}
			}
			b := -1.0
			if l.AtMost != nil {
				b = *l.AtMost
			}
			if math.Abs(b-tt.bound) > 1e-9 || tt.from != "" && tt.from != got.bound.From ||
				(l.AtMost == nil) != (got.bound.From == "") {
				t.Errorf("bound %v from %q, want %v from %q: %s", b, got.bound.From, tt.bound, tt.from, got.bound.Why)
			}
			testkit.Has(t, got.bound.Why, tt.why)
			if got.bound.Why == "" || got.bound.Of == "" || (l.Why() == "" && l.Owner == "") {
				t.Errorf("a lever with an empty text: %+v", l)
			}
		})
	}
}

// undecided stands for each reason that leaves a measurement open.
const undecided Reason = "undecided"

// Levers that only checks speak of.
func TestSettingsLevers(t *testing.T) {
	decisions(t, []decision{
		{name: "memory found", lever: Memory, facts: metal(),
			results: []check.Result{finding(Memory, "MEM-001", "low", "x", "later"),
				finding(Memory, "MEM-002", "high", "x", "sooner")},
			want: Recommended, evidence: result.Cited, says: []string{"2 checks found something to change", "MEM-002", "sooner"}, bound: -1},
		{name: "kernel settled", lever: Kernel, facts: metal(),
			results: []check.Result{answer(Kernel, check.OK), answer(Kernel, check.Unknown)},
			want:    Settled, evidence: result.Cited, says: []string{"CHK-unknown could not look"}, bound: -1},
		{name: "kernel not applicable", lever: Kernel, facts: metal(),
			results: []check.Result{answer(Kernel, check.NotApplicable)},
			want:    Untested, bound: -1},
	})
}

func platform(role check.Role, facts *host.Facts, results []check.Result, outcomes []probe.Outcome) []Lever {
	levers, _ := Platform(role, facts, results, outcomes)
	return levers
}

func TestOrderAndNames(t *testing.T) {
	var got []string
	for _, l := range platform(check.ProductionDB, nil, nil, nil) {
		got = append(got, l.Name)
	}
	want := []string{Clock, Idle, SMT, Log, Degree, Memory, Kernel}
	testkit.Same(t, want, got)
}

func luckyTwelve() []result.Measurement {
	ms := []result.Measurement{ratio("wakeup.alu.10ms.cpu0", 1.15, 1.1, 1.2, 0.01)}
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		ms = append(ms, ratio("wakeup.alu.10ms.cpu"+n, 1.0, 0.95, 1.05, 0.01))
	}
	return ms
}
