package model

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// A policy that looks every 5 s climbs for 150 s, in which a load that its lowest
// frequency cannot carry queues: 2.9 times the step time, when the truth is 1.6.
func TestWarmUpOutlastsThePolicy(t *testing.T) {
	c := Case{Machine: must(FindMachine("sap")), Workload: must(FindWorkload("sap-dialog")), Load: 0.6}
	slow := testPolicy("balanced-rs1,PERFCHECK=5s")
	x := must(Compare(context.Background(), c, testPolicy("high-performance"), []Policy{slow}, Options{Seed: 1}))
	if e := x.Rows[0].Ratio[StepTime]; !(e.Value < 2 && e.High < 2.4) {
		t.Errorf("step time is %+v of the baseline's: it holds the climb", e)
	}
}

// Slices of a microsecond come by the million a second.
func TestEventsBoundTheFirstRun(t *testing.T) {
	c := Case{Machine: must(FindMachine("sap")), Workload: dialog("0.001ms", "0.001ms", 2), Load: 0.2}
	x := must(Compare(context.Background(), c, testPolicy("high-performance"),
		[]Policy{testPolicy("balanced-rs1"), testPolicy("schedutil")}, Options{Events: 200_000}))
	for _, r := range append([]Row{x.Baseline}, x.Rows...) {
		if r.Events > 300_000 {
			t.Errorf("%s: %d events, where 200,000 are allowed", r.Policy, r.Events)
		}
		if !slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Of == CutShort && strings.Contains(w.Text, "cut to the events allowed") }) {
			t.Errorf("%s: nothing says that it was cut short: %v", r.Policy, r.Warnings)
		}
	}
}

// The baseline's own figures are printed too, so they have a target.
func TestBaselineHasPrecision(t *testing.T) {
	c := Case{Machine: plain(4), Workload: dialog("exp 20ms", "exp 10ms", 3), Load: 0.7}
	base := testPolicy("high-performance")
	x := must(Compare(context.Background(), c, base, []Policy{base}, Options{Seed: 1, Precision: 0.004}))
	if w := halfWidth(x.Baseline.Responses[StepTime]); w > 0.026 {
		t.Errorf("the baseline's step time is known to %.3g only", w)
	}
}

// What is looked up of a domain must be what a look at all of its CPUs gives.
func TestDomainRunsAtItsHighestRequest(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		c.Machine = small(rapid.SampledFrom([]Scope{PerCore, PerSocket}).Draw(t, "shared"))
		testkit.OK(t, c.Validate())
		s := newSim(c, must(compileGovernor(c.Policy, c.Machine)), 7, 0)
		s.meter.steps = 40
		for !s.done && s.step() {
			want := make([]int32, len(s.hw.domains))
			for i := range s.cpus {
				k := &s.cpus[i]
				want[k.domain] = max(want[k.domain], k.request)
				for l := range s.hw.asking {
					if s.hw.asking[l].has(i) != (l == int(k.request)) {
						t.Fatalf("CPU %d asks for %d, and is listed under %d wrongly", i, k.request, l)
					}
				}
			}
			for d, w := range want {
				// Under schedutil a request that fell counts from the next look on.
				if got := s.hw.domains[d].request; got != w && (s.g.rule != ruleSchedutil || got < w) {
					t.Fatalf("domain %d runs at %d; its CPUs ask for up to %d", d, got, w)
				}
			}
		}
	})
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		settle, steps int64
		most          float64
		want          plan
	}{
		{100, 500, math.Inf(1), plan{100, 500, 100}},
		{100, 5000, math.Inf(1), plan{500, 5000, 100}},    // a tenth
		{100, 5000, 1200, plan{100, 1000, 100}},           // the measurement gives way first
		{10000, 5000, 1200, plan{800, 363, 10000}},        // to a third
		{1 << 40, 1 << 40, 0.5, plan{20, 20, 1 << 40}},    // but something is left
		{1 << 40, 1 << 40, 1200, plan{800, 363, 1 << 40}}, // without overflow
	} {
		if got := (plan{settle: c.settle, steps: c.steps}).within(c.most); got != c.want {
			t.Errorf("%d + %d steps within %g: %+v, want %+v", c.settle, c.steps, c.most, got, c.want)
		}
	}
}
