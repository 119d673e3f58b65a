package effects_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
	"hostlab/internal/testkit/pages"
)

func comparisonWarnings(t *testing.T, s *effects.Set) []string {
	t.Helper()
	var doc struct {
		Comparison struct{ Warnings []string }
	}
	testkit.OK(t, json.Unmarshal(written(t, s, effects.WriteJSON), &doc))
	return doc.Comparison.Warnings
}

// Studies that have nothing in common are told apart in one sentence, by the names
// of their directories, and every one that lacks an effect is named.
func TestCompareUnlike(t *testing.T) {
	gzip, other, power := pages.Gzip(), pages.Others(), pages.Power()
	gzip.Analysis.Experiment.Study = strings.Repeat("0123456789abcdef", 4)
	other.Analysis.Experiment.Study = gzip.Analysis.Experiment.Study
	power.Analysis.Experiment.Study = strings.Repeat("fedcba9876543210", 4)
	s := set(gzip, other, power)
	warnings := comparisonWarnings(t, s)
	studies := slices.DeleteFunc(slices.Clone(warnings), func(w string) bool { return strings.HasPrefix(w, "host ") })
	if len(studies) != 1 {
		t.Fatalf("%d warnings: %q", len(studies), studies)
	}
	for _, part := range []string{"0123456789ab (gzip, gzip-new) | fedcba987654 (power-x-logdev)", "workload: command (gzip, gzip-new) | logcommit (power-x-logdev)", "not all of them have", "commit_p50"} {
		testkit.Has(t, studies[0], part)
	}
	if strings.Contains(studies[0], "cdef01") {
		t.Errorf("a whole hash in %q", studies[0])
	}
	if !slices.Contains(warnings, "host kernel: 6.12.48 (gzip, power-x-logdev) | 6.17.2 (gzip-new)") {
		t.Errorf("kernels are not grouped: %q", warnings)
	}
	text := string(written(t, s, func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }))
	if !strings.Contains(text, "not in gzip, gzip-new\n") || !strings.Contains(text, "not in power-x-logdev\n") {
		t.Errorf("not every experiment without an effect is named:\n%s", text)
	}
	if strings.Index(text, "+48.2 %") > strings.Index(text, "NOT THE SAME") {
		t.Error("warnings stand before the results")
	}
	page := string(written(t, s, effects.WriteHTML))
	_, after, ok := strings.Cut(page[strings.Index(page, "The same effects side by side"):], "Not the same in all of them</h2>")
	folded, _, _ := strings.Cut(after, "</section>")
	if !ok || !strings.Contains(folded, `<details class="block">`) {
		t.Error("the page does not fold warnings after the results")
	}
}

func TestCompareCopy(t *testing.T) {
	again := pages.Gzip()
	again.Dir = "copy"
	if w := comparisonWarnings(t, set(pages.Gzip(), again)); len(w) != 1 || !strings.HasPrefix(w[0], "gzip and copy are the same experiment") {
		t.Errorf("%q", w)
	}
}

// An unfinished record says how to go on with it, to its writer and to its reader;
// the page is not told how to make itself.
func TestResumeIsTold(t *testing.T) {
	const resume, itself = "hostlab run --resume --out gzip-running", "--out gzip-running.html"
	s := samples["running"]()
	text := string(written(t, s, func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }))
	page := testkit.Words(string(written(t, s, effects.WriteHTML)))
	if !strings.Contains(text, resume) || !strings.Contains(page, resume) {
		t.Error("nothing says how to go on")
	}
	if !strings.Contains(text, itself) || strings.Contains(page, itself) {
		t.Error("the command that makes the page belongs into the text and not into the page")
	}
	if strings.Contains(string(written(t, samples["gzip"](), effects.WriteHTML)), ">Next<") {
		t.Error("a page with nothing to do has steps")
	}
}

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

// docs/schema/report.schema.json describes what WriteJSON writes.
func TestSchema(t *testing.T) {
	for name, make := range samples {
		conform.To(t, "report.schema.json", written(t, make(), effects.WriteJSON), name)
	}
}

// Scripts rely on these keys, for one experiment and for several; unknown is null.
func TestJSONEffects(t *testing.T) {
	for name, n := range map[string]int{"gzip": 2, "compared": 4, "empty": 2} {
		var doc struct {
			Effects []map[string]any `json:"effects"`
		}
		testkit.OK(t, json.Unmarshal(written(t, samples[name](), effects.WriteJSON), &doc))
		if len(doc.Effects) != n {
			t.Fatalf("%s: %d effects, want %d", name, len(doc.Effects), n)
		}
		e := doc.Effects[0]
		for _, k := range []string{"factor", "level", "baseline", "response", "effect", "low", "high", "n", "verdict", "margin", "noise_floor", "evidence"} {
			if _, ok := e[k]; !ok {
				t.Errorf("%s: no key %s", name, k)
			}
		}
		switch v := e["effect"].(type) {
		case nil:
			if name != "empty" || e["n"] != 0.0 || e["low"] != nil || e["verdict"] != "inconclusive" {
				t.Errorf("%s: %v", name, e)
			}
		case float64:
			if name == "empty" || math.Abs(v-0.48) > 0.02 || e["verdict"] != "costs_more" || e["level"] != "6" || e["baseline"] != "1" {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
}

// Every run is one row that a reader of RFC 4180 reads back.
func TestCSV(t *testing.T) {
	for name, make := range samples {
		s := make()
		b := written(t, s, effects.WriteCSV)
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runs := 0
		for _, r := range s.Reports {
			runs += len(r.Runs)
		}
		testkit.Is(t, runs+1, len(rows), name, "rows for", runs, "runs")
		if n := bytes.Count(b, []byte("\n")); n != bytes.Count(b, []byte("\r\n")) {
			t.Errorf("%s: lines do not all end in CRLF", name)
		}
	}
	s := samples["gzip"]()
	rows := testkit.Must(csv.NewReader(bytes.NewReader(written(t, s, effects.WriteCSV))).ReadAll())(t)
	at := map[string]int{}
	for i, h := range rows[0] {
		at[h] = i
	}
	for i, r := range s.Reports[0].Runs {
		got := rows[i+1][at["response.wall.s"]]
		if want, ok := r.Values["wall"]; ok {
			testkit.Is(t, want, testkit.Must(strconv.ParseFloat(got, 64))(t), "row", i+1, "wall", got)
		} else if got != "" {
			t.Errorf("row %d: wall %s of a run without one", i+1, got)
		}
		if rows[i+1][at["status"]] != string(r.Status) || rows[i+1][at["factor.level"]] == "" {
			t.Errorf("row %d: %v", i+1, rows[i+1])
		}
	}
}
