package effects_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// docs/schema/report.schema.json describes what WriteJSON writes, and refuses what
// it does not.
func TestSchema(t *testing.T) {
	schema := testkit.Must(jsonschema.NewCompiler().Compile("../../../docs/schema/report.schema.json"))(t)
	for name, make := range samples {
		doc := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(written(t, make(), effects.WriteJSON))))(t)
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		doc.(map[string]any)["effects"].([]any)[0].(map[string]any)["verdict"] = "splendid"
		if schema.Validate(doc) == nil {
			t.Errorf("%s: the schema takes any verdict", name)
		}
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

// 100,000 runs: the analysis is made outside, as cmd/hostlab measures the whole.
func BenchmarkWrite(b *testing.B) {
	s := set(pages.Large(100_000))
	for name, write := range map[string]func() []byte{
		"json": func() []byte { return written(b, s, effects.WriteJSON) },
		"html": func() []byte { return written(b, s, effects.WriteHTML) },
		"csv":  func() []byte { return written(b, s, effects.WriteCSV) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(write())), "B/page")
			}
		})
	}
}
