package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/experiment"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
)

func TestRunsToTheEnd(t *testing.T) {
	b := newBench(t, head(7, "")+levelFactor+nullWorkload)
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
	r := b.record()
	for _, run := range r.Runs {
		want := r.Experiment.Cells[run.Cell].Levels["power"]
		if run.Before["power"] != want || run.After["power"] != want {
			t.Fatalf("a run at %s read %v and %v", want, run.Before, run.After)
		}
	}
	if r.Runs[0].Status != result.WarmUp || len(r.Runs) != 15 {
		t.Errorf("%d runs, the first %s", len(r.Runs), r.Runs[0].Status)
	}
	if r.End.Reason != "looks" || r.End.Blocks != 7 {
		t.Errorf("ended: %+v", r.End)
	}
	// Again: it is over, and nothing happens.
	before := len(r.Runs)
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	if after := b.record(); len(after.Runs) != before {
		t.Errorf("%d runs more", len(after.Runs)-before)
	}
	if _, err := os.Stat(filepath.Join(b.cfg.Dir, store.WorkDir)); err == nil {
		t.Error("the workload's directory was left")
	}
}

// A run that is too short for the clock's ticks carries that its guard was not read, and the
// first one is spoken of.
func TestShortRunsAreNotGuarded(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload+limit3)
	b.under = func(int) conditions { return conditions{known: true, Taken: proc.Taken{Resolution: 1, Foreign: 0.9}} }
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	if n := len(b.notes); n != 1 || !strings.Contains(b.notes[0], "max_foreign_cpu and max_steal are not checked") {
		t.Errorf("notes %q", b.notes)
	}
	for _, run := range b.record().Runs {
		if run.Conditions["foreign_cpu"] != 0 || !slices.ContainsFunc(run.Warnings, func(w string) bool { return strings.Contains(w, "too short to read") }) {
			t.Errorf("block %d: conditions %v, warnings %q", run.Block, run.Conditions, run.Warnings)
		}
	}
}

// A run whose guard is broken is done again within its block.
func TestVoidRunsAreMadeAgain(t *testing.T) {
	limit := "[guard]\nmax_foreign_cpu = \"3%\"\nmax_steal = \"1%\"\nthrottling = true\n"
	b := newBench(t, head(7, "")+strings.Replace(levelFactor, `"low", "high"`, `"low", "high", "mid"`, 1)+nullWorkload+limit)
	b.under = func(n int) conditions {
		c := conditions{known: true, Taken: proc.Taken{Resolution: 0.01}}
		switch n { // 0 is the warm-up
		case 1:
			c.Foreign = 0.05
		case 2:
			c.Steal = 0.03
		case 4:
			c.throttles = 2
		case 7:
			c.Foreign = 0.035 // within the clock's resolution
		}
		return c
	}
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
	r := b.record()
	for i, run := range r.Runs[1:8] {
		if want := map[bool]result.Status{true: result.Void, false: result.OK}[i == 0 || i == 1 || i == 3]; run.Status != want || run.Block != i/6 {
			t.Errorf("run %d: %s in block %d", i, run.Status, run.Block)
		}
	}
	for i, want := range []string{"max_foreign_cpu 3 %", "max_steal 1 %", "", "throttled"} {
		if !strings.Contains(r.Runs[i+1].Reason, want) {
			t.Errorf("run %d: %q, want %q", i+1, r.Runs[i+1].Reason, want)
		}
	}
}

func TestChangedBehindOurBack(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+`
[workload]
name = "command"
run = ["sh", "-c", "echo mischief > level"]
warmup = 0
retries = 2
[[response]]
name = "wall"
from = "wall"
primary = true
`)
	err := b.run()
	b.fails(err, "3 times", `read "`, `after it: another program changed it`, "--resume --out "+b.cfg.Dir)
	// What it reads at the end is neither a level nor the original: it was left.
	b.fails(err, "mischief", "another program changed it, so it was left; nothing of this experiment is in force", "--restore --out "+b.cfg.Dir+" --yes")
	if _, ok := errors.AsType[*Cleanup](err); !ok {
		t.Error("not a *Cleanup")
	}
	if got := b.level(); got != "mischief" {
		t.Errorf("overwrote what another program set: %q", got)
	}
	cfg := b.cfg
	cfg.Study = b.study
	b.fails(Restore(context.Background(), cfg), "mischief")
	cfg.Force = true
	if err := Restore(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	b.putBack()
}

func TestFactorsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		apply, read string
		want        []string
	}{
		"apply fails":            {`["sh", "-c", "echo no such device >&2; exit 3 # {level}"]`, `["cat", "level"]`, []string{"cannot be set to", "exit status 3", "no such device", "output is in"}},
		"apply is missing":       {`["./set.sh", "{level}"]`, `["cat", "level"]`, []string{"set.sh", "no such file"}},
		"apply does nothing":     {`["true", "{level}"]`, `["cat", "level"]`, []string{`reads "original" after it was set to "`}},
		"read says nothing":      {`["true", "{level}"]`, `["true"]`, []string{"nothing was changed", "no level to go back to", "printed nothing"}},
		"read fails":             {`["true", "{level}"]`, `["sh", "-c", "echo gone >&2; exit 1"]`, []string{"nothing was changed", "cannot be read", "gone"}},
		"read floods its output": {`["true", "{level}"]`, `["sh", "-c", "head -c 1000000 /dev/zero"]`, []string{"printed 1000000 bytes"}},
		"read hangs":             {`["true", "{level}"]`, `["sh", "-c", "sleep 60 & wait"]`, []string{"took longer than 200ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head(6, "")+`
[[factor]]
name = "power"
levels = ["low", "high"]
baseline = "low"
timeout = "200ms"
apply = `+c.apply+`
read = `+c.read+nullWorkload)
			err := b.run()
			b.fails(err, c.want...)
			if strings.Contains(strings.SplitN(err.Error(), "\n", 2)[0], "\n") {
				t.Error(err)
			}
			if got := b.level(); got != "original" {
				t.Errorf("level %q", got)
			}
			if _, err := os.Stat(b.cfg.Dir); strings.HasPrefix(name, "read ") {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a record without a run was left: %v", err)
				}
				return
			}
			if n := len(b.record().Runs); n == 0 || b.record().Runs[0].Reason == "" {
				t.Errorf("%d runs, the first without a reason", n)
			}
		})
	}
}

// A workload that fails is tried again, and never hides why.
func TestWorkloadFails(t *testing.T) {
	for name, c := range map[string]struct {
		workload string
		want     []string
	}{
		"exits":   {"name = \"command\"\nrun = [\"sh\", \"-c\", \"echo out of cheese >&2; exit 4\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n", []string{"exit status 4", "out of cheese", "2 times"}},
		"hangs":   {"name = \"command\"\ntimeout = \"150ms\"\nrun = [\"sleep\", \"60\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n", []string{"longer than the timeout of 150ms"}},
		"below 0": {"name = \"null\"\nscript = [\"-1\"]\n[[response]]\nname = \"seconds\"\nprimary = true\n", []string{"response seconds is missing: it is -1, and ratios need"}},
		"missing": {"name = \"null\"\nscript = [\"missing\"]\n[[response]]\nname = \"seconds\"\nprimary = true\n", []string{"response seconds is missing: left out"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head(6, "")+levelFactor+"[workload]\nwarmup = 1\nretries = 1\n"+c.workload)
			b.fails(b.run(), append(c.want, "warm-up", "--resume")...)
			b.putBack()
			if n := len(b.record().Runs); n != 2 {
				t.Errorf("%d runs recorded", n)
			}
		})
	}
}

// Sporadic failures cost a run each and nothing else.
func TestWorkloadFailsNowAndThen(t *testing.T) {
	b := newBench(t, head(10, "")+levelFactor+strings.Replace(nullWorkload, `warmup = 1`, "warmup = 1\nfail = 5", 1))
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
	failed := b.failed()
	for _, reason := range failed {
		if !strings.Contains(reason, "fails, as") {
			t.Errorf("reason %q", reason)
		}
	}
	if len(failed) < 4 {
		t.Errorf("%d failed", len(failed))
	}
}

func TestCancelPutsBackAndResumes(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+strings.Replace(nullWorkload, "retries", "sleep = \"20ms\"\nretries", 1))
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		b.runs = 0
		b.under = func(n int) conditions {
			if n == 4 {
				cancel()
			}
			return conditions{known: true, throttles: -1}
		}
		err := b.runCtx(ctx)
		cancel()
		b.putBack()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if n > 20 {
			t.Fatal("no progress")
		}
	}
	b.complete()
}

func TestCancelKillsTheWorkload(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+"[workload]\nname = \"command\"\nwarmup = 0\nrun = [\"sh\", \"-c\", \"echo $$ > pid; sleep 60 & wait\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(b.dir, "pid")); err == nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.putBack()
	if n := len(b.record().Runs); n != 0 {
		t.Errorf("%d runs recorded of one that was cut short", n)
	}
}

func TestPanicPutsBack(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	b.under = func(n int) conditions {
		if n == 3 {
			panic("a bug")
		}
		return conditions{known: true, throttles: -1}
	}
	func() {
		defer func() {
			if p := recover(); p != "a bug" {
				t.Errorf("recovered %v", p)
			}
		}()
		b.run() //nolint:errcheck // it panics
	}()
	b.putBack()
	b.under = nil
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
}

func TestResumeRefusesAnotherStudy(t *testing.T) {
	text := head(6, "") + levelFactor + nullWorkload
	b := newBench(t, text)
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
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
		if !strings.Contains(changed.Diff, want) {
			t.Errorf("no %q in the difference:\n%s", want, changed.Diff)
		}
	}
	if len(b.record().Runs) != before {
		t.Error("runs were added")
	}
}

// What cannot be begun leaves its directory for the next try.
func TestRefusedLeavesNothing(t *testing.T) {
	b := newBench(t, head(6, "")+swappinessFactor+nullWorkload)
	err := b.run()
	b.fails(err, "nothing can be compared on this host")
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
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
}

func TestBudget(t *testing.T) {
	b := newBench(t, head(10, `budget = "60s"`)+levelFactor+nullWorkload)
	now := time.Unix(1e9, 0)
	b.cfg.sys.now = func() time.Time { now = now.Add(time.Second / 2); return now }
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
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
			if run.Slot == again.slot && run.Attempt == again.attempt-1 {
				want = requeue(x, want[1:], again)
			}
		}
	}
	if diff := cmp.Diff(len(want), len(got)); diff != "" {
		t.Error(diff)
	}
	attempts := map[int]int{}
	for _, s := range got {
		attempts[s.slot] = s.attempt
	}
	if diff := cmp.Diff(map[int]int{0: 3, 1: 2, 2: 1}, attempts); diff != "" {
		t.Error(diff)
	}
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
			if s.slot == 0 {
				counts[i]++
			}
		}
		if diff := cmp.Diff(got, pending(x, runs, 0, 0), cmp.AllowUnexported(slot{}, place{})); diff != "" {
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
	b := newBench(t, head(6, "")+levelFactor+"[workload]\nwarmup = 1\nretries = 1\nname = \"null\"\nvalue = 0.0\n[[response]]\nname = \"seconds\"\nprimary = true\n")
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
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
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		x := b.record().Experiment
		seeds[x.Design.Seed] = true
		st, err := Recorded(b.cfg.Dir, nil)
		if err != nil || st.Design.Seed != x.Design.Seed {
			t.Errorf("%v: the recorded study has seed %d, the record %d", err, st.Design.Seed, x.Design.Seed)
		}
		_, want := experiment.Plan(st)
		if diff := cmp.Diff(want, x.Blocks); diff != "" {
			t.Errorf("the seed does not give the plan again:\n%s", diff)
		}
	}
	if len(seeds) != 3 {
		t.Errorf("seeds %v", seeds)
	}
}

// A link to the record that leads elsewhere meanwhile gives workloads no directory there to empty.
func TestWorkStaysInRecord(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	record, other, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	kept := filepath.Join(other, store.WorkDir, "file")
	if err := errors.Join(os.Symlink(record, link), os.Mkdir(filepath.Dir(kept), 0o700), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
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
