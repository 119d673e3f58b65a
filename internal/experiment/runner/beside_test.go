package runner

import (
	"context"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

const jitterWorkload = "[workload]\nname = \"null\"\nwarmup = 0\njitter = 0.001\n[[response]]\nname = \"seconds\"\nprimary = true\n"

// Pairs of the baseline with itself run before the plan, and runs that hold the level after it, where an effect would
// be none; an experiment that was interrupted in either goes on with what is left.
func TestBlocksBesideThePlan(t *testing.T) {
	for _, stop := range []int{-1, 3, 30} {
		b := newBench(t, head(10, "aa = 3")+levelFactor+jitterWorkload)
		if stop >= 0 {
			ctx, cancel := context.WithCancel(t.Context())
			b.under = func(n int) conditions {
				if n == stop {
					cancel()
				}
				return conditions{known: true, throttles: -1}
			}
			if err := b.runCtx(ctx); err == nil {
				t.Fatal("an experiment that was interrupted ended well")
			}
		}
		testkit.OK(t, b.run())
		b.complete()
		r := b.record()
		var order []int
		for _, run := range r.Runs {
			if run.Status == result.OK && (len(order) == 0 || order[len(order)-1] != run.Block) {
				order = append(order, run.Block)
			}
		}
		if len(order) != 14 || order[0] != 10 || order[2] != 12 || order[3] != 0 || order[12] != 9 || order[13] != 13 ||
			len(r.Runs) != 6+20+36 {
			t.Errorf("stopped at %d: blocks %v, %d runs", stop, order, len(r.Runs))
		}
		testkit.Is(t, 10, r.End.Blocks, "stopped at", stop, "ended", r.End)
		a := analysis.Analyse(r.Experiment, r.Runs, r.End)
		if e := a.Effects[0]; e.Verdict != analysis.NoEffect || e.Held.N == 0 || a.AA[0].N != 3 {
			t.Errorf("stopped at %d: %s, %+v, %+v", stop, e.Verdict, e.Held, a.AA)
		}
	}
}
