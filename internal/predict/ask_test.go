package predict_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// ask answers a question about a built-in case, quickly.
func ask(t *testing.T, machine, workload string, policies []string, loads []float64) *predict.Answer {
	t.Helper()
	return testkit.Must(predict.Ask(context.Background(), question(t, machine, workload, policies, loads), nil))(t)
}

func question(t *testing.T, machine, workload string, policies []string, loads []float64) predict.Question {
	t.Helper()
	m := testkit.Must(model.FindMachine(machine))(t)
	w := testkit.Must(model.FindWorkload(workload))(t)
	// Small enough to be quick; the page does not depend on it.
	m.Sockets, m.CoresPerSocket = 1, 4
	if n := len(m.Turbo); n > 0 {
		m.Turbo = []model.TurboBin{{ActiveCores: 4, Hz: m.Turbo[n-1].Hz}}
	}
	q := predict.Question{Machine: predict.BuiltIn(m), Workload: predict.BuiltInWorkload(w), Loads: loads,
		Options: model.Options{Seed: 1, Replications: 4, Steps: 200}}
	q.Baseline = parse(t, "high-performance")
	for _, p := range policies {
		q.Policies = append(q.Policies, parse(t, p))
	}
	return q
}

func parse(t *testing.T, text string) model.Policy {
	t.Helper()
	return testkit.Must(model.ParsePolicy(text))(t)
}

func render(t *testing.T, a *predict.Answer) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, document.WriteHTML(&b, a.Document()))
	return b.String()
}

// A question without policies, a baseline or loads takes those of its machine; what cannot be asked names its flag.
func TestAsked(t *testing.T) {
	of := func(policies []string, baseline string, loads ...float64) predict.Asked {
		q := question(t, "sap", "sap-dialog", []string{"balanced"}, loads)
		q.Policies, q.Baseline = nil, model.Policy{}
		return predict.Asked{Question: q, Policies: policies, Baseline: baseline}
	}
	q, err := of(nil, "").Read()
	if err != nil || len(q.Policies) == 0 || q.Baseline.Name == "" || !slices.IsSorted(q.Loads) || len(q.Loads) == 0 {
		t.Errorf("%v, %v", q, err)
	}
	q, err = of([]string{"balanced", "balanced-rs1", "high-performance"}, "high-performance", 0.5, 0.2, 0.5).Read()
	if err != nil || len(q.Policies) != 1 || !slices.Equal(q.Loads, []float64{0.2, 0.5}) {
		t.Errorf("%v, %v", q.Policies, err)
	}
	if q, err = of([]string{"balanced"}, "power-saver").Read(); err != nil || len(q.Loads) == 0 || len(q.Loads) >= len(predict.DefaultLoads()) ||
		!strings.Contains(strings.Join(q.Workload.Warnings, "\n"), "cannot carry") {
		t.Errorf("loads %v, %q, %v", q.Loads, q.Workload.Warnings, err)
	}
	for want, a := range map[string]predict.Asked{
		"--policy: ":            of([]string{"balancd"}, ""),
		"did you mean balanced": of([]string{"balancd"}, ""),
		"as in fixed:57":        of([]string{"fixed"}, ""),
		"repeat --policy":       of([]string{"balanced,power-saver"}, ""),
		"there is one baseline": of(nil, "balanced,power-saver"),
		"it has only bounds":    of(nil, "hwp"),
	} {
		testkit.Refused(a.Read())(t, want)
	}
}

// TestLoadsAreNamed holds that no load is written as nothing or as all.
func TestLoadsAreNamed(t *testing.T) {
	for load, want := range map[float64]string{1e-5: "at 0.001 % load", 0.05: "at 5 % load", 0.9999: "at 99.99 % load"} {
		a := ask(t, "sap", "sap-dialog", []string{"hwp"}, []float64{load})
		testkit.Has(t, strings.Join(a.Sentences(), " "), want, load)
	}
}

func TestBoundsThatCannotCarry(t *testing.T) {
	a := ask(t, "sap", "sap-dialog", []string{"hwp", "balanced"}, []float64{0.7})
	if s := strings.Join(a.Sentences(), " "); !strings.Contains(s,
		"its lowest frequency cannot carry sap-dialog at 70 % load") || strings.Contains(s, "unknown") {
		t.Error(s)
	}
	if len(a.Sensitivity) == 0 {
		t.Error("no sensitivity of the policy that is not bounded")
	}
}

// TestVanishingKnowsWhatIsCarried holds that the load of the table counts too.
func TestVanishingKnowsWhatIsCarried(t *testing.T) {
	a := ask(t, "sap", "sap-dialog", []string{"power-saver"}, []float64{0.7})
	testkit.Has(t, strings.Join(a.Sentences(), " "), "keeps its cost at every load up to 70 %; with more, its queue grows without end")
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

// The interval of a prediction holds how sure its record is: one whose bursts come in two phases is less so than one
// that has the same bursts in turn.
func TestIntervalHoldsTheRecord(t *testing.T) {
	width := map[bool]float64{}
	for _, phases := range []bool{false, true} {
		var b bytes.Buffer
		w := testkit.Must(burstlog.NewWriter(&b, burstlog.Head{CPUs: []int{0}, Length: 300, Seen: 0.2, Load: 0.2, Service: "pid:1",
			Source: "scheduler events"}))(t)
		for i := range 1000 {
			busy := 0.005
			if phases && i >= 500 || !phases && i%2 == 1 {
				busy = 0.080
			}
			testkit.OK(t, w.Write(burstlog.Burst{At: 0.3 * float64(i), Busy: busy, Idle: 0.170, Service: 0.5}))
		}
		testkit.OK(t, w.Flush())
		q := question(t, "sap", "sap-dialog", []string{"balanced-rs1"}, nil)
		q.Options = model.Options{Seed: 1, Replications: 10, Steps: 2000}
		q.Workload = testkit.Must(predict.ReadWorkload("bursts.jsonl", &b, true))(t)
		a := testkit.Must(predict.Ask(t.Context(), q, nil))(t)
		for _, c := range a.Document().Data.(predict.Data).Cells {
			if c.Policy == "balanced-rs1" && c.Response == model.CPUSeconds {
				width[phases] = c.Ratio.High - c.Ratio.Low
			}
		}
		if said := render(t, a); !strings.Contains(said, "20 % of 300 s") ||
			!strings.Contains(said, "pid:1 ran for that share") {
			t.Error("the page does not say that the record is a sample, or whose it is")
		}
	}
	t.Log(width)
	if !(width[true] > 2*width[false]) {
		t.Errorf("widths %v", width)
	}
}
