package effects_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
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
	page := string(written(t, s, effects.WriteHTML))
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

// Effects of ratios multiply; only differences add up.
func TestInteractionsMultiply(t *testing.T) {
	page := string(written(t, samples["power"](), effects.WriteHTML))
	for _, s := range []string{"ratio of two ratios: 0 % means that the two effects multiply", "difference of two differences of 0 means that they add up", "on this logarithmic scale the effects multiply"} {
		testkit.Has(t, page, s)
	}
}
