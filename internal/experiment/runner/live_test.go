package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// served is a service that others use: what it takes depends on the level in a file. It is watched in looks
// of a second, which take no time.
type served struct {
	workload.Usual
	level string                              // the file
	takes func(level string) (float64, error) // a look, in s
}

const looksOfRun = 20

func (s *served) Describe() workload.Description {
	return workload.Description{Name: "served", Live: true,
		Responses: []workload.Response{{Name: "latency_p99", Unit: "s", Better: "lower"}, {Name: "load", Unit: "1/s"}}}
}

func (s *served) Open(context.Context, workload.Config) (workload.Session, error) { return s, nil }
func (s *served) Close() error                                                    { return nil }

func (s *served) Run(ctx context.Context, r workload.Request) (out workload.Sample, _ error) {
	sum := 0.0
	for n := range looksOfRun {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		v, err := s.look()
		if err != nil {
			return out, err
		}
		sum += v
		out.Set("latency_p99", sum/float64(n+1))
		out.Set("load", 100)
		harmed := r.Look != nil && r.Look(workload.Bin{At: time.Duration(n+1) * time.Second, Lasted: time.Second,
			Values: out.Values}) != nil
		if harmed {
			break
		}
	}
	return out, nil
}

func (s *served) look() (float64, error) {
	text, err := os.ReadFile(s.level)
	if err != nil {
		return 0, err
	}
	return s.takes(strings.TrimSpace(string(text)))
}

const liveStudy = `
[study]
name = "t"
seed = 7
[design]
looks = [8]
[[factor]]
name = "power"
levels = ["original", "high"]
apply = ["sh", "-c", "echo {level} > level"]
read = ["cat", "level"]
settle = "0s"
[workload]
name = "served"
warmup = 1
retries = 2
[harm]
every = "1s"
[[response]]
name = "latency_p99"
primary = true
`

// newServed is a bench for a service that takes so long at a level. harm are further lines of that table.
func newServed(t *testing.T, takes func(level string) (float64, error), harm ...string) *bench {
	t.Helper()
	b := newBench(t, head(25, "")+levelFactor+nullWorkload)
	known := Known()
	known.Workloads = []workload.Workload{&served{level: filepath.Join(b.dir, "level"), takes: takes}}
	st := testkit.Must(experiment.Parse(filepath.Join(b.dir, "s.toml"), b.dir,
		[]byte(strings.Replace(liveStudy, "[harm]", strings.Join(append([]string{"[harm]"}, harm...), "\n"), 1)),
		experiment.Overrides{}, known))(t)
	b.study = st
	return b
}

func steady(string) (float64, error) { return 0.010, nil }

func slowAtHigh(level string) (float64, error) {
	if level == "high" {
		return 0.030, nil
	}
	return 0.010, nil
}

// A level that harms the service is taken back within the look that shows it, and after two strikes
// the experiment ends. What was seen counts for the level.
func TestHarmIsStopped(t *testing.T) {
	after := 0
	b := newServed(t, func(level string) (float64, error) {
		if level == "high" {
			after++
			return 0.030, nil
		}
		return 0.010, nil
	})
	testkit.OK(t, b.run())
	r := b.record()
	if r.End == nil || r.End.Reason != result.Harmed {
		t.Fatalf("end %+v", r.End)
	}
	struck := 0
	for _, run := range r.Runs {
		if run.Harm == "" {
			continue
		}
		struck++
		if run.Status != result.OK || r.Experiment.Cells[run.Cell].Levels["power"] != "high" ||
			run.After["power"] != "original" || run.Values["latency_p99"] != 0.030 ||
			!strings.Contains(run.Harm, "above the baseline's") {
			t.Errorf("%+v", run)
		}
	}
	if struck != 2 || after != 2*experiment.HarmMany {
		t.Errorf("%d strikes, %d looks at the level", struck, after)
	}
	entries := 0
	for _, e := range r.Journal {
		if e.Op == store.Struck && e.Value == "original" {
			entries++
		}
	}
	if entries != 2 || len(b.notes) < 2 || !strings.Contains(b.notes[0], "the baseline was restored within") {
		t.Errorf("%d entries, notes %q", entries, b.notes)
	}
	b.putBack()
}

// What goes on at the baseline after a strike is no harm of the level: the record says so, and the experiment goes on.
func TestHarmOfTheBaselineDoesNotCount(t *testing.T) {
	slow := false
	b := newServed(t, func(level string) (float64, error) {
		if slow = slow || level == "high"; slow { // from the first level on, for good
			return 0.030, nil
		}
		return 0.010, nil
	})
	testkit.OK(t, b.run())
	r := b.record()
	struck := 0
	for _, run := range r.Runs {
		if run.Harm == "" {
			continue
		}
		if struck++; !strings.Contains(run.Harmless, "not calm") {
			t.Errorf("%+v", run)
		}
	}
	if struck == 0 || r.End == nil || r.End.Reason == result.Harmed {
		t.Errorf("%d strikes, end %+v", struck, r.End)
	}
}

// Who ends hostlab while it holds the baseline does not take the strike from the record.
func TestHarmIsRecordedWhileTheBaselineIsHeld(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newServed(t, slowAtHigh)
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		if watch(p); strings.HasPrefix(p.Stage, "holding") {
			cancel()
		}
	}
	if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	runs := b.record().Runs
	if last := runs[len(runs)-1]; last.Harm == "" || last.Harmless != "" || last.Status != result.OK {
		t.Errorf("%+v", last)
	}
	b.putBack()
}

// A strike is remembered by a resume.
func TestHarmIsRemembered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newServed(t, slowAtHigh)
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if p.Last != nil && p.Last.Harm != "" {
			cancel()
		}
	}
	if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.putBack()
	testkit.OK(t, b.run())
	n := 0
	for _, r := range b.record().Runs {
		if r.Harm != "" {
			n++
		}
	}
	if end := b.record().End; n != 2 || end == nil || end.Reason != result.Harmed {
		t.Errorf("%d strikes, end %+v", n, end)
	}
}

// A limit that the service exceeds by itself is no level's fault: none is tried.
func TestLimitBeyondTheBaseline(t *testing.T) {
	b := newServed(t, func(level string) (float64, error) {
		if level == "high" {
			t.Error("the level was tried")
		}
		return 0.010, nil
	}, `limit = {latency_p99 = "5ms"}`)
	err := b.run()
	testkit.Fails(t, err, "latency_p99 is 10.0 ms at the baseline, above its limit of 5.00 ms")
	if end := b.record().End; end != nil {
		t.Errorf("ended by %q: it may go on", end.Reason)
	}
	b.putBack()
}

// After a run that failed the baseline is there before anything else is tried.
func TestFailureBringsTheBaseline(t *testing.T) {
	fails := true
	b := newServed(t, func(level string) (float64, error) {
		if level == "high" && fails {
			fails = false
			return 0, errors.New("the connection was lost")
		}
		return 0.010, nil
	})
	waited := false
	b.cfg.sys.sleep = func(ctx context.Context, d time.Duration) error {
		if d == time.Second {
			waited = true
			testkit.Is(t, "original", b.level(), "the level is", "while it waits")
		}
		return ctx.Err()
	}
	testkit.OK(t, b.run())
	if failed := b.failed(); !waited || len(failed) != 1 || failed[0] != "the connection was lost" {
		t.Errorf("failed %q, waited %v", failed, waited)
	}
	b.complete()
}

// Two experiments on one host's live services would disturb each other.
// A restart of the service is no failure of a level: its pair begins anew, in the order of its coin, and the verdict is
// made of whole pairs.
func TestRestartBeginsThePairAnew(t *testing.T) {
	looks := 0
	b := newServed(t, func(string) (float64, error) {
		if looks++; looks == (1+5)*looksOfRun+5 { // after the warm-up, in the second period of the third pair
			return 0, &workload.Restarted{Err: errors.New("the service has ended or was restarted")}
		}
		return 0.010 + 1e-6*float64(looks*looks%97), nil
	})
	testkit.OK(t, b.run())
	r := b.record()
	var third []string
	for _, run := range r.Runs {
		if run.Block == 2 && run.Status != result.WarmUp {
			third = append(third, fmt.Sprint(run.Slot, run.Attempt, " ", run.Status, " ", run.Restarted, " ", run.Withdrawn))
		}
	}
	if want := []string{"0 1 void false true", "1 1 void true false", "0 2 ok false false",
		"1 2 ok false false"}; !slices.Equal(third, want) {
		t.Errorf("%q, want %q", third, want)
	}
	a := analysis.Analyse(r.Experiment, r.Runs, r.End)
	if e := a.Effects[0]; a.Blocks != 8 || e.Failing != nil ||
		!strings.HasPrefix(strings.Join(a.Warnings, " "),
			"pair 3: the service has ended or was restarted; what was seen of the pair") {
		t.Errorf("%d pairs, failing %+v, warnings %q", a.Blocks, e.Failing, a.Warnings)
	}
}

func TestOneLiveExperiment(t *testing.T) {
	b, other := newServed(t, steady), newServed(t, steady)
	tried := false
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if p.Last != nil && !tried {
			tried = true
			other.fails(other.run(), fmt.Sprintf("another hostlab, pid %d, runs an experiment on a live service", os.Getpid()),
				fmt.Sprint("kill ", os.Getpid()))
		}
	}
	if err := b.run(); err != nil || !tried {
		t.Fatal(err, tried)
	}
	if err := other.run(); err != nil {
		t.Error(err)
	}
	if slices.Contains(other.statuses(), "failed") {
		t.Error(other.statuses())
	}
}
