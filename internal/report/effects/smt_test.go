package effects_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/result"
)

type smtCell struct {
	Placement, Antagonist string
	Bytes                 int64 `json:"scan_bytes"`
	Ratio                 result.Estimate
	Medians               map[string]float64
}

type smtDocument struct {
	Outcome     string
	Verdicts    []string
	Experiments []struct {
		Section struct {
			Name, Decision, Cause, Reason, Advice string
			Intervals                             map[string]result.Estimate
			Rotation                              result.Estimate
			Cells                                 []smtCell
			Rotating                              *smtCell
			Caches                                map[string]int64
			Cited                                 []struct {
				Low, High float64
				Runs      int
			}
		}
	}
}

// Hosts made up get the verdict that was put in, in every format, with the shares that
// were put in, and none is told to turn SMT off.
func TestSMTSection(t *testing.T) {
	for _, c := range []struct {
		sample, decision, cause string
		sibling, core           float64 // of a scan of twice L2; 0: not there
		says                    string
	}{
		{"smt-caches", "harm", "caches", 0.38, 0.985, "through the caches"},
		{"smt-slots", "harm", "issue slots", 0.58, 0.99, "through the issue slots"},
		{"smt-none", "none", "", 1.01, 1, "does not harm"},
		{"smt-noisy", "inconclusive", "", 0.83, 1, "Inconclusive"},
		{"smt-untestable", "untestable", "", 0, 0.995, "no CPU shares a core with CPU 0"},
		{"smt-one-core", "inconclusive", "", 0.6, 0, "More blocks do not help here."},
		{"smt-empty", "inconclusive", "", 0, 0, "No verdict yet"},
		{"smt-alike", "inconclusive", "", 0.5, 0.5, "a scanner on another core costs about as much"},
	} {
		s := samples[c.sample]()
		got := decoded[smtDocument](t, s).Experiments[0].Section
		if got.Name != "smt" || got.Decision != c.decision || got.Cause != c.cause {
			t.Errorf("%s: %s, %s, want %s, %s: %s", c.sample, got.Decision, got.Cause, c.decision, c.cause, got.Reason)
		}
		for place, want := range map[string]float64{"sibling": c.sibling, "core": c.core} {
			seen := 0.0
			for _, cell := range got.Cells {
				if cell.Placement == place && cell.Antagonist == "scan" && cell.Bytes == 2<<20 && cell.Ratio.Known() {
					seen = cell.Ratio.Value
					if cell.Ratio.N != 15 || !cell.Ratio.Contains(seen) || cell.Medians["lock_rate"] == 0 {
						t.Errorf("%s, %s: %+v", c.sample, place, cell)
					}
				}
			}
			off := 0.01
			if c.sample == "smt-noisy" {
				off = 0.1
			}
			if math.Abs(seen-want) > off {
				t.Errorf("%s: %s keeps %.3f, want %.3f", c.sample, place, seen, want)
			}
		}
		// The published runs, by hand: 722554 of (10550011+11182506)/2, and 1297138 of
		// (9900899+8984095)/2.
		if got.Cited[0].Runs != 4 || math.Abs(got.Cited[0].Low-0.0665) > 1e-4 || math.Abs(got.Cited[0].High-0.1374) > 1e-4 {
			t.Errorf("%s: cited %+v", c.sample, got.Cited)
		}
		for name, write := range texts {
			text := strings.Join(strings.Fields(string(written(t, s, write))), " ")
			if !strings.Contains(text, c.says) {
				t.Errorf("%s: %s does not say %q", c.sample, name, c.says)
			}
			for _, never := range []string{"isable HT", "isable SMT", "urn off", "urn SMT off"} {
				if strings.Contains(text, never) {
					t.Errorf("%s: %s says %q", c.sample, name, never)
				}
			}
		}
	}
}

// The rule's verdict is the study's: the headline, the outcome and with it the exit
// status say the same as the section, also where a primary effect says something else.
func TestSMTDecides(t *testing.T) {
	for name, c := range map[string]struct {
		want    analysis.Outcome
		outcome string
		first   string
	}{
		"smt-caches":     {analysis.Beyond, "effect", "Sharing a core harms"},
		"smt-none":       {analysis.NoneBeyond, "no_practical_effect", "A scanner on the sibling does not harm"},
		"smt-noisy":      {analysis.Open, "inconclusive", "Inconclusive: 78 of 315 runs are contaminated"},
		"smt-untestable": {analysis.Open, "inconclusive", "Untestable here"},
		"smt-alike":      {analysis.Open, "inconclusive", "Inconclusive: a scanner on another core costs about as much"},
		"smt-one-core":   {analysis.Open, "inconclusive", "Inconclusive: without a scanner on another core"},
		"smt-empty":      {analysis.Open, "inconclusive", "No verdict yet"},
	} {
		s := samples[name]()
		if got := s.Outcome(); got != c.want {
			t.Errorf("%s: outcome %d, want %d", name, got, c.want)
		}
		doc := decoded[smtDocument](t, s)
		if doc.Outcome != c.outcome || len(doc.Verdicts) == 0 || !strings.HasPrefix(doc.Verdicts[0], c.first) {
			t.Errorf("%s: %s, %q", name, doc.Outcome, doc.Verdicts)
		}
		if got := string(written(t, s, texts["text"])); !strings.HasPrefix(strings.Join(strings.Fields(got), " "), c.first) {
			t.Errorf("%s begins %.80q", name, got)
		}
		page := strings.ReplaceAll(string(written(t, s, effects.WriteHTML)), "\u00a0", " ")
		if at := strings.Index(page, `id="h-verdict"`); !strings.HasPrefix(afterTag(page[at:], "<p"), c.first) {
			t.Errorf("%s: the page's headline is %.120q", name, afterTag(page[at:], "<p"))
		}
	}
	// Without the rule, the primary effect of the same record would be the headline.
	s := samples["smt-alike"]()
	s.Reports[0].Analysis.Experiment.Section = ""
	if s.Outcome() != analysis.Beyond {
		t.Error("the record has no primary effect that the rule could contradict")
	}
}

// afterTag is the text behind the first tag that has a word.
func afterTag(page, word string) string {
	_, rest, _ := strings.Cut(page, word)
	_, rest, _ = strings.Cut(rest, ">")
	return strings.TrimSpace(rest)
}

// A host without siblings has no share of the rotation: then it has what the lock
// thread lost, and on two CPUs nobody else wants its lock.
func TestSMTRotationWithoutSiblings(t *testing.T) {
	made := func(cpus string) string {
		s := samples["smt-untestable"]()
		r := &s.Reports[0]
		r.Analysis.Experiment.Context["cpus"] = cpus
		for _, run := range r.Analysis.Used {
			delete(run.Values, "sibling_share")
		}
		return strings.Join(strings.Fields(string(written(t, s, texts["text"]))), " ")
	}
	text := made("2")
	if !strings.Contains(text, "against alone, with no other thread at its lock, as the other CPU scans") || strings.Contains(text, "all others want its lock") {
		t.Error("two CPUs: the text has others that want the lock")
	}
	if text := made("4"); !strings.Contains(text, "against alone, as all others want its lock") {
		t.Error("four CPUs: the text has nobody else that wants the lock")
	}
}

// A verdict that stands at the top, for want of a primary effect, is not said again.
func TestSMTVerdictOnce(t *testing.T) {
	for name, write := range texts {
		page := dataElement.ReplaceAllString(string(written(t, samples["smt-untestable"](), write)), "")
		text := strings.Join(strings.Fields(page), " ")
		if n := strings.Count(text, "Untestable here"); n != 1 {
			t.Errorf("%s says it %d times", name, n)
		}
		if strings.Contains(text, "EFFECTS") || !strings.Contains(text, "Does sharing a core harm") && !strings.Contains(text, "DOES SHARING A CORE HARM") {
			t.Errorf("%s has a heading without effects, or none of the section", name)
		}
	}
	for name, write := range texts { // with a primary effect at the top, the section has it
		if text := dataElement.ReplaceAllString(string(written(t, samples["smt-caches"](), write)), ""); strings.Count(strings.Join(strings.Fields(text), " "), "Sharing a core harms threads that take locks here") != 1 {
			t.Errorf("%s does not say once that it harms", name)
		}
	}
}

// The table of placements: as many figures as were measured, those that show a loss coloured, and the
// reason for what is absent. The picture: a line for each place and a mark for each cache.
func TestSMTPictures(t *testing.T) {
	for name, c := range map[string]struct{ cells, lost, lines int }{
		"smt-caches":     {19, 9, 2}, // 9 rows: sibling, core, and one scan behind another cache
		"smt-untestable": {9, 1, 1},
	} {
		page := string(written(t, samples[name](), func(w io.Writer, s *effects.Set) error { return effects.WriteHTML(w, s) }))
		_, table, _ := strings.Cut(page, "What the lock thread keeps of its rate")
		table, _, _ = strings.Cut(table, "</table>")
		if n := strings.Count(table, "<small>n = "); n != c.cells {
			t.Errorf("%s: %d cells with figures, want %d", name, n, c.cells)
		}
		if n := strings.Count(table, "badge t-caution"); n != c.lost {
			t.Errorf("%s: %d cells show a loss, want %d", name, n, c.lost)
		}
		if !strings.Contains(page, "there is no CPU on another socket than CPU 0") {
			t.Errorf("%s: no reason for what is absent", name)
		}
		sweep := figure(t, page, "e0-smt-sweep")
		if n := strings.Count(sweep, `class="join `); n != c.lines {
			t.Errorf("%s: %d lines, want %d", name, n, c.lines)
		}
		if n := strings.Count(sweep, `class="mark"`); n != 3 {
			t.Errorf("%s: %d caches marked, want 3", name, n)
		}
	}
	if page := written(t, samples["smt-empty"](), effects.WriteHTML); bytes.Contains(page, []byte("smt-sweep")) {
		t.Error("a picture of nothing")
	}
}

// figure is the SVG with an id, as written.
func figure(t *testing.T, page, id string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `aria-labelledby="`+id+`-t `)
	svg, _, end := strings.Cut(rest, "</svg>")
	if !ok || !end {
		t.Fatalf("no picture %s", id)
	}
	return svg
}

// The rotation has a row of its own, which says that the scanner goes round, in every
// format, and a cell in the document.
func TestSMTRotating(t *testing.T) {
	for name, write := range texts {
		text := strings.Join(strings.Fields(dataElement.ReplaceAllString(string(written(t, samples["smt-caches"](), write)), "")), " ")
		for _, want := range []string{"rotating scan 2 MiB", "the scanner's sibling against the mean of the others", "the lock thread against alone", "rotating,"} {
			if !strings.Contains(strings.ReplaceAll(text, "&#39;", "'"), want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	c := decoded[smtDocument](t, samples["smt-caches"]()).Experiments[0].Section.Rotating
	if c == nil || c.Placement != "rotation" || c.Ratio.N != 15 || math.Abs(c.Ratio.Value-0.5) > 0.01 {
		t.Errorf("%+v", c)
	}
}

// On a hybrid host the section says which class it is about, and a scanner on a CPU of
// another class has it in its head.
func TestSMTClasses(t *testing.T) {
	s := samples["smt-caches"]()
	x := s.Reports[0].Analysis.Experiment
	for k, v := range map[string]string{"victim": "CPU 0", "class": "performance", "class_performance": "0-7", "class_efficiency": "8-15"} {
		x.Context[k] = v
	}
	rename := func(l string) string { return strings.Replace(l, "@llc", "@8", 1) }
	for i, l := range x.Factors[0].Levels {
		x.Factors[0].Levels[i] = rename(l)
	}
	for i := range x.Cells {
		x.Cells[i].Levels["cell"] = rename(x.Cells[i].Levels["cell"])
	}
	for name, write := range texts {
		text := strings.Join(strings.Fields(string(written(t, s, write))), " ")
		for _, want := range []string{"efficiency (CPUs 8-15), performance (CPUs 0-7)", "of class performance, that of CPU 0", "workload.victim=8", "CPU 8, of class"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}
