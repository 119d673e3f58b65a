package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

func TestResumeRefusesAnotherStudy(t *testing.T) {
	text := head(6, "") + levelFactor + nullWorkload
	b := newBench(t, text)
	testkit.OK(t, b.run())
	before := len(b.record().Runs)
	b.load(strings.Replace(text, "retries = 2", "retries = 3", 1))
	err := b.run()
	changed, ok := errors.AsType[*Changed](err)
	if !ok {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*Refused](err); !ok {
		t.Error("not refused")
	}
	for _, want := range []string{"-retries = 2\n", "+retries = 3\n"} {
		testkit.Has(t, changed.Diff, want)
	}
	testkit.Is(t, before, len(b.record().Runs), "runs were added")
}

// What cannot be begun leaves its directory for the next try.
func TestRefusedLeavesNothing(t *testing.T) {
	b := newBench(t, head(6, "")+swappinessFactor+nullWorkload)
	err := b.run()
	b.fails(err, "this host cannot run it: ")
	if _, ok := errors.AsType[*Refused](err); !ok {
		t.Error("not refused")
	}
	if _, err := os.Stat(b.cfg.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a record was left: %v", err)
	}
}

func TestHostChanges(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload+"[guard]\nfingerprint = [\"kernel\"]\n")
	b.under = func(n int) conditions {
		if n >= 3 {
			b.host["kernel"] = "6.2"
		}
		return conditions{known: true, throttles: -1}
	}
	b.fails(b.run(), "the host changed, in what guard.fingerprint lists: kernel was 6.1 and is 6.2")
	b.putBack()
	b.fails(b.run(), "the host has changed since", "kernel was 6.1 and is 6.2")
	b.host["kernel"], b.under = "6.1", nil
	b.host["microcode"] = "7" // not guarded
	testkit.OK(t, b.run())
	b.complete()
}

func TestBudget(t *testing.T) {
	b := newBench(t, head(10, `budget = "60s"`)+levelFactor+nullWorkload)
	now := time.Unix(1e9, 0)
	b.cfg.sys.now = func() time.Time { now = now.Add(time.Second / 2); return now }
	testkit.OK(t, b.run())
	r := b.record()
	if r.End == nil || r.End.Reason != "budget" || r.End.Blocks < 1 || r.End.Blocks > 8 {
		t.Errorf("ended %+v", r.End)
	}
	if last := r.Runs[len(r.Runs)-1].Start; last.Sub(time.Unix(1e9, 0)) > 61*time.Second {
		t.Errorf("the last run began after %s", last.Sub(time.Unix(1e9, 0)))
	}
	b.putBack()
}

// What pending says depends on the record alone.
func TestPending(t *testing.T) {
	x := &result.Experiment{Blocks: []result.Block{{Plots: [][]int{{2, 0, 1}}}}}
	at := func(slot, attempt int, s result.Status) result.Run {
		return result.Run{Slot: slot, Attempt: attempt, Status: s}
	}
	runs := []result.Run{at(0, 1, result.WarmUp), at(0, 1, result.Void), at(1, 1, result.Failed), at(0, 2, result.Void)}
	got := pending(x, runs, 0, 0)
	// As the session that was killed would have gone on.
	want := pending(x, nil, 0, 0)
	for range 3 {
		again := want[0]
		again.attempt++
		for _, run := range runs[1:] {
			if run.Slot == again.Slot && run.Attempt == again.attempt-1 {
				want = requeue(x, want[1:], again)
			}
		}
	}
	testkit.Same(t, len(want), len(got))
	attempts := map[int]int{}
	for _, s := range got {
		attempts[s.Slot] = s.attempt
	}
	testkit.Same(t, map[int]int{0: 3, 1: 2, 2: 1}, attempts)
}

// A retry comes at any place among what is left, equally often, and again the same for
// the same seed.
func TestRetriesAreAtRandomPlaces(t *testing.T) {
	counts := make([]int, 4)
	for seed := range uint64(4000) {
		x := &result.Experiment{Design: result.Design{Seed: seed}, Blocks: []result.Block{{Plots: [][]int{{2, 0, 1, 3}}}}}
		runs := []result.Run{{Slot: 0, Attempt: 1, Status: result.Failed}}
		got := pending(x, runs, 0, 0)
		if len(got) != 4 {
			t.Fatalf("%d left", len(got))
		}
		for i, s := range got {
			if s.Slot == 0 {
				counts[i]++
			}
		}
		if diff := cmp.Diff(got, pending(x, runs, 0, 0), cmp.AllowUnexported(slot{})); diff != "" {
			t.Fatal(diff)
		}
	}
	for i, n := range counts {
		if n < 880 || n > 1120 { // 1000, and more than four standard deviations
			t.Errorf("at place %d of 4 in %d of 4000", i, n)
		}
	}
}

// 0 is a value: a run that gives it counts, and is not made again.
func TestZeroIsAValue(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+
		"[workload]\nwarmup = 1\nretries = 1\nname = \"null\"\nvalue = 0.0\n[[response]]\nname = \"seconds\"\nprimary = true\n")
	testkit.OK(t, b.run())
	b.complete()
	for _, run := range b.record().Runs {
		if v, ok := run.Values["seconds"]; !ok || v != 0 || run.Attempt != 1 {
			t.Errorf("%+v", run)
		}
	}
}

// A study without a seed draws one, which the record keeps and a resume goes on with.
func TestSeedIsDrawn(t *testing.T) {
	seeds := map[uint64]bool{}
	for range 3 {
		b := newBench(t, strings.Replace(head(6, ""), "seed = 7\n", "", 1)+levelFactor+nullWorkload)
		testkit.OK(t, b.run())
		x := b.record().Experiment
		seeds[x.Design.Seed] = true
		st, err := Recorded(b.cfg.Dir, nil)
		if err != nil || st.Design.Seed != x.Design.Seed {
			t.Errorf("%v: the recorded study has seed %d, the record %d", err, st.Design.Seed, x.Design.Seed)
		}
		_, want := experiment.Plan(st)
		testkit.Same(t, want, x.Blocks, "the seed does not give the plan again")
	}
	testkit.Is(t, 3, len(seeds), "seeds", seeds)
}

// A link to the record that leads elsewhere meanwhile gives workloads no directory there to empty.
func TestWorkStaysInRecord(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	record, other, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	kept := filepath.Join(other, store.WorkDir, "file")
	testkit.OK(t, errors.Join(os.Symlink(record, link), os.Mkdir(filepath.Dir(kept), 0o700),
		os.WriteFile(kept, nil, 0o600)))
	b.cfg.Dir = link
	b.cfg.sys.watch = func() func() conditions { // a run begins
		if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
			t.Error(err)
		}
		return func() conditions { return conditions{known: true, throttles: -1} }
	}
	cfg := b.cfg
	cfg.Study = b.study
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(record, store.WorkDir)); !os.IsNotExist(err) {
		t.Errorf("left in the record: %v", err)
	}
}
