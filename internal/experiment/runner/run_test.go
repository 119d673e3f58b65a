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

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

func TestRunsToTheEnd(t *testing.T) {
	b := newBench(t, head(7, "")+levelFactor+nullWorkload)
	testkit.OK(t, b.run())
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
	testkit.OK(t, b.run())
	if after := b.record(); len(after.Runs) != before {
		t.Errorf("%d runs more", len(after.Runs)-before)
	}
	testkit.Refused(os.Stat(filepath.Join(b.cfg.Dir, store.WorkDir)))(t, "", "the workload's directory was left")
}

// A run that is too short for the clock's ticks carries that its guard was not read, and the
// first one is spoken of.
func TestShortRunsAreNotGuarded(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload+limit3)
	b.under = func(int) conditions { return conditions{known: true, Taken: proc.Taken{Resolution: 1, Foreign: 0.9}} }
	testkit.OK(t, b.run())
	if n := len(b.notes); n != 1 || !strings.Contains(b.notes[0], "max_foreign_cpu and max_steal are not checked") {
		t.Errorf("notes %q", b.notes)
	}
	for _, run := range b.record().Runs {
		if run.Conditions["foreign_cpu"] != 0 || !slices.ContainsFunc(run.Warnings,
			func(w string) bool { return strings.Contains(w, "too short to read") }) {
			t.Errorf("block %d: conditions %v, warnings %q", run.Block, run.Conditions, run.Warnings)
		}
	}
}

// A run whose guard is broken is done again within its block.
func TestVoidRunsAreMadeAgain(t *testing.T) {
	limit := "[guard]\nmax_foreign_cpu = \"3%\"\nmax_steal = \"1%\"\nthrottling = true\n"
	b := newBench(t, head(7, "")+strings.Replace(levelFactor, `"low", "high"`, `"low", "high", "mid"`,
		1)+nullWorkload+limit)
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
	testkit.OK(t, b.run())
	b.complete()
	r := b.record()
	for i, run := range r.Runs[1:8] {
		if want := map[bool]result.Status{true: result.Void, false: result.OK}[i == 0 || i == 1 ||
			i == 3]; run.Status != want || run.Block != i/6 {
			t.Errorf("run %d: %s in block %d", i, run.Status, run.Block)
		}
	}
	for i, want := range []string{"max_foreign_cpu 3 %", "max_steal 1 %", "", "throttled"} {
		testkit.Has(t, r.Runs[i+1].Reason, want, i+1)
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
	b.fails(err, "mischief", "another program changed it, so it was left; nothing of this experiment is in force",
		"--restore --out "+b.cfg.Dir+" --yes")
	if _, ok := errors.AsType[*Cleanup](err); !ok {
		t.Error("not a *Cleanup")
	}
	testkit.Is(t, "mischief", b.level(), "overwrote what another program set")
	cfg := b.cfg
	cfg.Study = b.study
	b.fails(Restore(context.Background(), cfg), "mischief")
	cfg.Force = true
	testkit.OK(t, Restore(context.Background(), cfg))
	b.putBack()
}

func TestFactorsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		apply, read string
		want        []string
	}{
		"apply fails": {`["sh", "-c", "echo no such device >&2; exit 3 # {level}"]`, `["cat", "level"]`,
			[]string{"cannot be set to", "exit status 3", "no such device", "output is in"}},
		"apply is missing": {`["./set.sh", "{level}"]`, `["cat", "level"]`, []string{"set.sh", "no such file"}},
		"apply does nothing": {`["true", "{level}"]`, `["cat", "level"]`,
			[]string{`reads "original" after it was set to "`}},
		"read says nothing": {`["true", "{level}"]`, `["true"]`,
			[]string{"nothing was changed", "no level to go back to", "printed nothing"}},
		"read fails": {`["true", "{level}"]`, `["sh", "-c", "echo gone >&2; exit 1"]`,
			[]string{"nothing was changed", "cannot be read", "gone"}},
		"read floods its output": {`["true", "{level}"]`, `["sh", "-c", "head -c 1000000 /dev/zero"]`,
			[]string{"printed 1000000 bytes"}},
		"read hangs": {`["true", "{level}"]`, `["sh", "-c", "sleep 60 & wait"]`,
			[]string{"took longer than 200ms"}},
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
			testkit.Is(t, "original", b.level(), "level")
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
		"exits": {"name = \"command\"\nrun = [\"sh\", \"-c\", \"echo out of cheese >&2; exit 4\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n", []string{"exit status 4", "out of cheese", "2 times"}},
		"hangs": {"name = \"command\"\ntimeout = \"150ms\"\nrun = [\"sleep\", \"60\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n", []string{"longer than the timeout of 150ms"}},
		"below 0": {"name = \"null\"\nscript = [\"-1\"]\n[[response]]\nname = \"seconds\"\nprimary = true\n",
			[]string{"response seconds is missing: it is -1, and ratios need"}},
		"missing": {"name = \"null\"\nscript = [\"missing\"]\n[[response]]\nname = \"seconds\"\nprimary = true\n",
			[]string{"response seconds is missing: left out"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head(6, "")+levelFactor+"[workload]\nwarmup = 1\nretries = 1\n"+c.workload)
			b.fails(b.run(), append(c.want, "warm-up", "--resume")...)
			b.putBack()
			testkit.Is(t, 2, len(b.record().Runs), "runs recorded")
		})
	}
}

// Sporadic failures cost a run each and nothing else.
func TestWorkloadFailsNowAndThen(t *testing.T) {
	b := newBench(t, head(10, "")+levelFactor+strings.Replace(nullWorkload, `warmup = 1`, "warmup = 1\nfail = 5", 1))
	testkit.OK(t, b.run())
	b.complete()
	failed := b.failed()
	for _, reason := range failed {
		testkit.Has(t, reason, "fails, as")
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
	b := newBench(t, head(6, "")+levelFactor+
		"[workload]\nname = \"command\"\nwarmup = 0\nrun = [\"sh\", \"-c\", \"echo $$ > pid; sleep 60 & wait\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n")
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
	testkit.Is(t, 0, len(b.record().Runs), "runs recorded of one that was cut short")
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
			testkit.Is(t, "a bug", recover(), "recovered")
		}()
		b.run() //nolint:errcheck // it panics
	}()
	b.putBack()
	b.under = nil
	testkit.OK(t, b.run())
	b.complete()
}
