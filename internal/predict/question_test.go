package predict_test

import (
	"slices"
	"strings"
	"testing"

	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

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
