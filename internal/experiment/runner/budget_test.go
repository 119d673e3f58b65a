package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// Pauses belong to no budget: those between sessions, also within a block, nor
// those in which a person is waited for, nor what passes until --restore.
func TestBudgetLeavesPausesOut(t *testing.T) {
	const pause = 10 * time.Hour
	for name, c := range map[string]struct {
		study   string
		confirm bool
		cancel  []int // runs of each session
	}{
		"sessions":           {study: levelFactor + nullWorkload, cancel: []int{3, 4, 1}},
		"a person asked":     {study: manualStudy, confirm: true},
		"a person, sessions": {study: manualStudy},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head(8, `budget = "1h"`)+c.study)
			b.write("bios", "perf\n")
			off := time.Duration(0)
			b.cfg.sys.now = func() time.Time { return time.Now().Add(off) }
			do := func(prompt string) {
				off += pause
				for _, level := range []string{"perf", "eco"} {
					if strings.Contains(prompt, "power profile to "+level) {
						b.write("bios", level+"\n")
					}
				}
			}
			if c.confirm {
				b.cfg.Confirm = func(prompt string) error { do(prompt); return nil }
			}
			for _, at := range c.cancel {
				ctx, cancel := context.WithCancel(context.Background())
				n := 0
				b.under = func(int) conditions {
					if n++; n == at {
						cancel()
					}
					return conditions{known: true, throttles: -1}
				}
				if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				off += pause
			}
			b.under = nil
			for n := 0; ; n++ {
				err := b.run()
				if err == nil {
					break
				}
				if _, ok := errors.AsType[*Waiting](err); !ok || n > 100 {
					t.Fatal(err)
				}
				do(err.Error())
			}
			if end := b.record().End; end == nil || end.Reason != "looks" || end.Blocks != 8 {
				t.Errorf("ended %+v after %s", end, b.record().Spent())
			}
		})
	}
}

// A block takes what its runs and the waiting between them take, whichever sessions
// they are in.
func TestTimes(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1e9+int64(s), 0) }
	r := &store.Record{
		Experiment: &result.Experiment{Blocks: make([]result.Block, 2)},
		Journal:    []store.Entry{{Op: store.Started, At: at(0)}, {Op: store.Started, At: at(1000)}},
		Runs: []result.Run{{Start: at(2), Seconds: 3}, {Start: at(7), Seconds: 1}, {Start: at(1004), Seconds: 2},
			{Start: at(900), Seconds: 1}, // the clock was set back
			{Start: at(902), Seconds: 1}, {Start: at(903), Seconds: 4, Block: 1}},
	}
	testkit.Same(t, []time.Duration{16 * time.Second, 4 * time.Second}, blockTimes(r))
}

// Before the first run, a block takes what the study expects: settle times of all
// factors of a run, those of a plot's once a plot.
func TestBlockTimeExpected(t *testing.T) {
	b := newBench(t, head(6, "")+`
[[factor]]
name = "bios"
levels = ["perf", "eco"]
manual = "set {level}"
settle = "1m"
[[factor]]
name = "effect"
parameter = "effect"
levels = ["1.0", "1.1"]
settle = "2s"
`+strings.Replace(nullWorkload, "retries", "expect = \"10s\"\nsettle = \"1s\"\nretries", 1))
	s := testkit.Must(begin(t.Context(), Config{Study: b.study, Dir: b.cfg.Dir, sys: b.cfg.sys}))(t)
	defer s.store.Close()
	plots, runs := time.Duration(b.study.PlotsPerBlock()), time.Duration(b.study.RunsPerBlock())
	if want, got := plots*time.Minute+(runs+plots)*13*time.Second, s.blockTime(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
