package predict_test

import (
	"strings"
	"testing"

	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// TestLoadsAreNamed holds that no load is written as nothing or as all.
func TestLoadsAreNamed(t *testing.T) {
	for load, want := range map[float64]string{1e-5: "at 0.001 % load", 0.05: "at 5 % load", 0.9999: "at 99.99 % load"} {
		a := ask(t, "sap", "sap-dialog", []string{"hwp"}, []float64{load}, false)
		if s := strings.Join(a.Sentences(), " "); !strings.Contains(s, want) {
			t.Errorf("%g: %s", load, s)
		}
	}
}

func TestBoundsThatCannotCarry(t *testing.T) {
	a := ask(t, "sap", "sap-dialog", []string{"hwp", "balanced"}, []float64{0.7}, false)
	if s := strings.Join(a.Sentences(), " "); !strings.Contains(s,
		"its lowest frequency cannot carry this workload at 70 % load") || strings.Contains(s, "unknown") {
		t.Error(s)
	}
	if len(a.Sensitivity) == 0 {
		t.Error("no sensitivity of the policy that is not bounded")
	}
}

// TestVanishingKnowsWhatIsCarried holds that the load of the table counts too.
func TestVanishingKnowsWhatIsCarried(t *testing.T) {
	a := ask(t, "sap", "sap-dialog", []string{"power-saver"}, []float64{0.7}, false)
	if s := strings.Join(a.Sentences(), " "); !strings.Contains(s, "keeps its cost at every load up to 70 %; with more, its queue grows without end") {
		t.Error(s)
	}
}

// TestCommandCovers holds that the closing command promises no figure, and names what
// it leaves out.
func TestCommandCovers(t *testing.T) {
	a := &predict.Answer{Question: question(t, "sap", "sap-dialog", []string{"balanced,PERFCHECK=30ms"}, []float64{0.3})}
	a.Machine.This = true
	if n := a.TestNote(); strings.Contains(n, "not cover") || !strings.Contains(a.TestCommand(),
		"--set workload.check=30ms") {
		t.Errorf("%s\n%s", n, a.TestCommand())
	}
	a.Machine.This, a.Workload.MemoryShare, a.Loads = false, 0.2, []float64{0.99}
	a.Policies = append(a.Policies, parse(t, "schedutil"))
	n := a.TestNote()
	for _, want := range []string{"does not cover schedutil", "CPUs of sap", "a load of 99 %, but has 95 %",
		"does not scale"} {
		testkit.Has(t, n, want)
	}
}

// Loads that nobody asked for are those that the baseline can carry.
func TestCarried(t *testing.T) {
	q := question(t, "sap", "sap-dialog", []string{"performance"}, nil)
	for baseline, want := range map[string]int{"high-performance": 5, "powersave": 2, "fixed:57%": 3} {
		q.Baseline = parse(t, baseline)
		testkit.Is(t, want, len(q.Carried(predict.DefaultLoads())), baseline, "carries")
	}
}
