package effects_test

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// A level whose runs fail has the headline and exit status 11, in text as in JSON.
func TestFailuresAreTheHeadline(t *testing.T) {
	s := set(pages.Failing())
	testkit.Is(t, analysis.Open, s.Outcome(), "outcome")
	var doc struct {
		Outcome  string
		Verdicts []string
		Effects  []struct {
			Verdict, Reason  string
			Limits, Warnings []string
			Failing          *struct {
				Level, Baseline struct{ Runs, Failed int }
				Failed          float64 `json:"p_failed"`
			}
		}
		Experiments []struct {
			Failures []struct {
				Levels       map[string]string
				Runs, Failed int
				Reason       string
			}
			Hours int    `json:"hours_seen"`
			First string `json:"first_run"`
		}
	}
	testkit.OK(t, json.Unmarshal(written(t, s, effects.WriteJSON), &doc))
	first := strings.Join(strings.Fields(string(written(t, s, func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }))), " ")
	const want = "level 6 in 10 of 30 runs (33.3 %"
	if !strings.Contains(first[:600], want) || !strings.Contains(doc.Verdicts[0], want) || doc.Outcome != "inconclusive" {
		t.Errorf("outcome %s, verdict %q, text %.600s", doc.Outcome, doc.Verdicts[0], first)
	}
	e := doc.Effects[0]
	if e.Verdict != "inconclusive" || len(e.Limits) == 0 || e.Limits[0] != "failures" || e.Failing == nil || e.Failing.Level.Failed != 10 || e.Failing.Level.Runs != 30 ||
		e.Failing.Baseline.Runs != 30 || e.Failing.Failed > 1e-3 || len(e.Warnings) == 0 || !strings.Contains(e.Reason, want) {
		t.Errorf("%+v", e)
	}
	x := doc.Experiments[0]
	if len(x.Failures) != 2 || x.Failures[1].Failed != 10 || x.Failures[1].Levels["level"] != "6" || !strings.Contains(x.Failures[1].Reason, "timeout") || x.Hours != 1 || x.First == "" {
		t.Errorf("%+v", x)
	}
}

// Where so many runs fail that there is no estimate, the headline says so too.
func TestFailuresAreTheHeadlineWithoutAnEstimate(t *testing.T) {
	r := pages.Failing()
	r.Analysis.Effects[0].Value = math.NaN()
	first := strings.Join(strings.Fields(string(written(t, set(r), func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }))), " ")
	if !strings.HasPrefix(first, "level 6 against 1 is inconclusive, as runs fail: level 6 in 10 of 30 runs") {
		t.Errorf("%.300s", first)
	}
}

// What the page says of an effect's kind and mean comes from typed fields, not from words.
func TestWarningsRepeatNoField(t *testing.T) {
	var doc struct {
		Schema  int
		Effects []struct {
			Primary, Stalls bool
			Warnings        []string
		}
	}
	testkit.OK(t, json.Unmarshal(written(t, set(pages.Stalls(), pages.Gzip()), effects.WriteJSON), &doc))
	stalls, secondary := 0, 0
	for _, e := range doc.Effects {
		if e.Stalls {
			stalls++
		}
		if !e.Primary {
			secondary++
		}
		for _, w := range e.Warnings {
			if strings.HasPrefix(w, "not primary") || strings.HasPrefix(w, "the mean ") {
				t.Errorf("%q stands in a field already", w)
			}
		}
	}
	if doc.Schema != 2 || stalls == 0 || secondary == 0 {
		t.Errorf("schema %d, %d effects with stalls, %d secondary", doc.Schema, stalls, secondary)
	}
}
