package effects_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// document is what the tests read of the JSON.
type document struct {
	Experiments []struct {
		Section struct {
			Name   string
			Tables []struct {
				Response, Unit string
				Cells          []cell
			}
		}
		Absent       []result.Absent
		Contaminated int
		Warnings     []string
	}
}

type cell struct {
	Levels       map[string]string
	Median       result.Estimate
	Contaminated int
	Against      []struct {
		Factor, Baseline string
		Effect           result.Estimate
	}
}

func decoded[T any](t *testing.T, s *effects.Set) (doc T) {
	t.Helper()
	testkit.OK(t, json.Unmarshal(written(t, s, effects.WriteJSON), &doc))
	return doc
}

// The table finds the seconds that were put in, each against the baseline at the same
// levels of the others, and says the same in the text.
func TestTableOfAllCombinations(t *testing.T) {
	s := samples["query"]()
	x := decoded[document](t, s).Experiments[0]
	if x.Section.Name != "table" || len(x.Section.Tables) != 1 || x.Section.Tables[0].Unit != "s" {
		t.Fatalf("%+v", x.Section)
	}
	cells := x.Section.Tables[0].Cells
	if len(cells) != 12 {
		t.Fatalf("%d cells, want 12", len(cells))
	}
	at := func(bios, policy, degree string) *cell {
		for i := range cells {
			if l := cells[i].Levels; l["bios"] == bios && l["policy"] == policy && l["degree"] == degree {
				return &cells[i]
			}
		}
		t.Fatalf("no cell %s, %s, %s", bios, policy, degree)
		return nil
	}
	for _, c := range []struct {
		bios, policy, degree string
		seconds              float64
		against              map[string]float64 // factor -> ratio - 1
	}{
		{"default", "balanced", "1", 195, nil},
		{"default", "performance", "1", 190, map[string]float64{"policy": 190./195 - 1}},
		{"default", "powersave", "32", 29, map[string]float64{"policy": 29/25.5 - 1, "degree": 29./348 - 1}},
		{"no saving", "performance", "32", 21, map[string]float64{"policy": 0, "degree": 21./258 - 1, "bios": 21/18.5 - 1}},
	} {
		got := at(c.bios, c.policy, c.degree)
		if !got.Median.Known() || math.Abs(got.Median.Value/c.seconds-1) > 0.02 || got.Median.N != 5 {
			t.Errorf("%s, %s, %s: %v in %d blocks, want %g s", c.bios, c.policy, c.degree, got.Median, got.Median.N, c.seconds)
		}
		testkit.Is(t, len(c.against), len(got.Against), c.bios, c.policy, c.degree, "comparisons")
		for _, e := range got.Against {
			want, ok := c.against[e.Factor]
			if !ok || math.Abs(e.Effect.Value-want) > 0.03 || !e.Effect.Contains(e.Effect.Value) || e.Effect.N != 5 {
				t.Errorf("%s, %s, %s against %s %s: %+v, want %.3f", c.bios, c.policy, c.degree, e.Factor, e.Baseline, e, want)
			}
		}
	}
	for _, want := range []string{"default, powersave", "degree 32", "against bios default", "Not on this host: policy schedutil (the driver intel"} {
		for name, write := range texts {
			if got := strings.Join(strings.Fields(string(written(t, s, write))), " "); !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// A section of a newer hostlab is a warning; its name stays in the JSON.
func TestUnknownSection(t *testing.T) {
	s := samples["newer"]()
	x := decoded[document](t, s).Experiments[0]
	if x.Section.Name != "hologram" || !slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.Contains(w, `"hologram"`) }) {
		t.Errorf("%+v", x)
	}
	for name, write := range texts {
		if !bytes.Contains(written(t, s, write), []byte("hologram")) {
			t.Errorf("%s is silent", name)
		}
	}
}

// Contaminated runs are counted wherever they count, and marked where they are seen.
func TestContaminatedRuns(t *testing.T) {
	s := samples["dialog"]()
	want := 0
	for _, r := range s.Reports[0].Runs {
		if r.Contaminated != "" && r.Status == result.OK {
			want++
		}
	}
	x := decoded[document](t, s).Experiments[0]
	got := 0
	for _, c := range x.Section.Tables[0].Cells {
		got += c.Contaminated
	}
	if want == 0 || x.Contaminated != want || got > want || got == 0 {
		t.Errorf("%d contaminated runs of the experiment, %d of the table, want %d", x.Contaminated, got, want)
	}
	if !slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.Contains(w, "a guard broken in every attempt") }) {
		t.Errorf("no warning: %q", x.Warnings)
	}
	rows := testkit.Must(csv.NewReader(bytes.NewReader(written(t, s, effects.WriteCSV))).ReadAll())(t)
	column := slices.Index(rows[0], "contaminated")
	for i, r := range s.Reports[0].Runs {
		testkit.Is(t, r.Contaminated, rows[i+1][column], "row", i+1)
	}
}
