package peers

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"hostlab/internal/testkit"
)

func TestAgreesWithScipy(t *testing.T) {
	b := testkit.Must(os.ReadFile("testdata/golden.json"))(t)
	var golden struct {
		Cases []struct {
			A, B                         []float64
			Benchstat, Hyperfine, Pyperf float64
		}
	}
	testkit.OK(t, json.Unmarshal(b, &golden))
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range golden.Cases {
		want := map[string]float64{"benchstat": c.Benchstat, "hyperfine": c.Hyperfine, "pyperf": c.Pyperf}
		for _, p := range All() {
			if got := p.P(c.A, c.B); math.Abs(got-want[p.Name]) > 1e-9 {
				t.Errorf("case %d (n=%d), %s: p = %v, scipy %v", i, len(c.A), p.Name, got, want[p.Name])
			}
		}
	}
}

func TestWarmUpsAreRunButNotCounted(t *testing.T) {
	for _, p := range All() {
		want := map[string]int{"benchstat": 10, "hyperfine": 10, "pyperf": 80}[p.Name]
		runs := p.Runs(p.Values)
		if runs != want {
			t.Errorf("%s: %d runs for %d values, want %d", p.Name, runs, p.Values, want)
		}
		if got := p.Pick(make([]float64, runs), p.Values); len(got) != p.Values {
			t.Errorf("%s: %d values of %d runs, want %d", p.Name, len(got), runs, p.Values)
		}
	}
}
