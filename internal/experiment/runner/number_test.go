package runner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// Runs have the numbers 0, 1, 2 ... also where the workload is opened for each, and
// where they are of several sessions: what is drawn anew for every run differs, and a
// script goes on.
func TestRunsAreNumbered(t *testing.T) {
	const restart = "\n[[factor]]\nname = \"size\"\nparameter = \"operations\"\nlevels = [\"1\", \"2\"]\nbaseline = \"1\"\nchange = \"restart-workload\"\n"
	const workload = "[workload]\nname = \"null\"\nscript = [1, 2, 3]\njitter = JITTER\n[[response]]\nname = \"seconds\"\nprimary = true\n"
	values := func(jitter string, interrupt bool) (out []float64) {
		b := newBench(t, head(7, "")+restart+strings.Replace(workload, "JITTER", jitter, 1))
		if interrupt {
			ctx, cancel := context.WithCancel(t.Context())
			b.under = func(n int) conditions {
				if n == 4 {
					cancel()
				}
				return conditions{known: true, throttles: -1}
			}
			if err := b.runCtx(ctx); err == nil {
				t.Fatal("an experiment that was interrupted ended well")
			}
		}
		testkit.OK(t, b.run())
		for _, r := range b.record().Runs {
			if r.Status != result.WarmUp {
				out = append(out, r.Values["seconds"])
			}
		}
		return out
	}
	want := []float64{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2}
	for _, interrupt := range []bool{false, true} {
		testkit.Same(t, want, values("0.0", interrupt), "interrupted ", interrupt)
	}
	noisy := values("0.1", false)
	for i := 3; i < len(noisy); i++ {
		if noisy[i] == noisy[i-3] {
			t.Errorf("runs %d and %d have the same jitter: %v", i-3, i, noisy[i])
		}
	}
	testkit.Same(t, noisy, values("0.1", true), "what a run draws depends on an interruption (-whole +resumed)")
}

// A response of 0, of which there is no ratio, is a value, and says what can be done.
func TestZeroIsKeptWithAHint(t *testing.T) {
	work, _ := all.Find("null")
	sample := workload.Sample{Values: map[string]float64{"seconds": 0}, Zero: map[string]string{"seconds": "take hours"}}
	for compare, want := range map[result.Comparison][]string{result.Ratio: {"seconds is 0: take hours"},
		result.Difference: nil} {
		s := &session{study: &experiment.Study{Work: work,
			Responses: []experiment.Response{{Response: result.Response{Name: "seconds", Primary: true, Compare: compare}}}}}
		r := &result.Run{}
		if err := s.responses(r, sample); err != nil {
			t.Error(err)
		}
		if v, ok := r.Values["seconds"]; !ok || v != 0 || !slices.Equal(r.Warnings, want) {
			t.Errorf("%s: %v, warnings %q, want %q", compare, r.Values, r.Warnings, want)
		}
	}
}

// One response by another, of the workload's own and of a command's picks, with the scale of the study.
func TestOneResponseByAnother(t *testing.T) {
	const factor = "\n[[factor]]\nname = \"size\"\nparameter = \"effect\"\nlevels = [1, 2]\n"
	const null = factor + "[workload]\nname = \"null\"\nvalue = 2.0\noperations = 8\n"
	const each = "[[response]]\nname = \"seconds\"\n[[response]]\nname = \"each\"\nfrom = \"seconds / operations\"\nunit = \"s\"\nscale = 10\nprimary = true\n"
	b := newBench(t, head(6, "")+null+each)
	testkit.OK(t, b.run())
	for _, r := range b.record().Runs {
		if want := 10 * r.Values["seconds"] / 8; r.Status == result.OK && (r.Values["each"] != want || want == 0) {
			t.Errorf("%v, expected %v", r.Values, want)
		}
	}
	b = newBench(t, head(6, "")+strings.Replace(null, "8", "0", 1)+each)
	testkit.Fails(t, b.run(), "operations is 0, or missing", "by 0")
	const command = "\n[[factor]]\nname = \"size\"\nparameter = \"size\"\nlevels = [1, 2]\n[workload]\nname = \"command\"\nrun = [\"echo\", \"12 of 4, {size}\"]\n"
	const picks = "[[response]]\nname = \"a\"\nfrom = \"regex:(\\\\d+) of\"\nunit = \"s\"\n[[response]]\nname = \"b\"\nfrom = \"regex:of (\\\\d+)\"\nunit = \"\"\nbetter = \"higher\"\n"
	b = newBench(t, head(6, "")+command+picks+"[[response]]\nname = \"c\"\nfrom = \"a / b\"\nunit = \"s\"\n")
	testkit.OK(t, b.run())
	if v := b.record().Runs[1].Values; v["a"] != 12 || v["b"] != 4 || v["c"] != 3 {
		t.Errorf("%v", v)
	}
}
