package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// rebootStudy has a factor that the next boot brings about: apply writes what the
// boot loader would be told, read prints what the running system has.
const rebootStudy = `
[[factor]]
name = "smt"
change = "reboot"
levels = ["on", "off"]
baseline = "on"
apply = ["sh", "-c", "echo {level} > configured"]
read = ["cat", "running"]
` + levelFactor + nullWorkload

// rebootBench is a study of so many blocks on a host that runs as it is configured.
func rebootBench(t *testing.T, blocks int, study string) *bench {
	t.Helper()
	b := newBench(t, head(blocks, "")+study)
	b.write("running", "on\n")
	b.write("configured", "on\n")
	return b
}

// reboot makes the configured level the running one.
func (b *bench) reboot() {
	b.t.Helper()
	b.bootN++
	text := testkit.Must(os.ReadFile(filepath.Join(b.dir, "configured")))(b.t)
	b.write("running", string(text))
}

func (b *bench) file(name string) string {
	b.t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(b.dir, name)))(b.t)
	return strings.TrimSpace(string(text))
}

func TestReboots(t *testing.T) {
	b := rebootBench(t, 6, rebootStudy)
	reboots, wrong := 0, 0
	for {
		err := b.run()
		if err == nil {
			break
		}
		waiting, ok := errors.AsType[*Waiting](err)
		if !ok {
			t.Fatal(err)
		}
		if _, dirty := errors.AsType[*Cleanup](err); dirty || !strings.Contains(waiting.Text, "reboot this host") {
			t.Fatal(err)
		}
		if got := b.level(); got != "original" {
			t.Fatalf("while waiting, the level of the factor that needs no reboot is %q", got)
		}
		if reboots > 100 {
			t.Fatal("no end")
		}
		if reboots == 2 {
			if err := b.run(); err == nil || len(b.record().Waiting()) != 1 {
				t.Fatalf("resumed without a reboot: %v", err)
			}
		}
		if reboots == 3 { // a boot that comes up with the other level
			right := b.file("configured")
			b.write("configured", map[string]string{"on": "off", "off": "on"}[right])
			b.reboot()
			b.fails(b.run(), "factor smt reads", "after the reboot")
			wrong++
			b.write("configured", right)
		}
		b.reboot()
		reboots++
	}
	b.complete()
	r := b.record()
	plots := 0
	boots := map[string]string{}
	for _, block := range r.Experiment.Blocks {
		plots += len(block.Plots)
	}
	for _, run := range r.Runs {
		if run.Status != result.OK {
			continue
		}
		plot := fmt.Sprintf("%d.%d", run.Block, run.Plot)
		if was, ok := boots[run.Boot]; ok && was != plot {
			t.Errorf("boot %s has runs of plots %s and %s", run.Boot, was, plot)
		}
		boots[run.Boot] = plot
		testkit.Is(t, r.Experiment.Cells[run.Cell].Levels["smt"], run.Before["smt"], "a run at smt=", "read")
	}
	if len(boots) != plots || reboots < plots {
		t.Errorf("%d boots for %d plots, %d reboots", len(boots), plots, reboots)
	}
	testkit.Is(t, "on", b.file("configured"), "configured is", "at the end")
	testkit.Has(t, strings.Join(b.notes, "\n"), "next boot", b.notes)
}

// Ctrl-C within a plot puts the configuration back; a resume in the same boot goes
// on with the plot, one in another brings the level about again.
func TestCancelWithinAPlot(t *testing.T) {
	for _, rebooted := range []bool{false, true} {
		b := rebootBench(t, 2, rebootStudy)
		b.fails(b.run(), "reboot")
		b.reboot()
		ctx, cancel := context.WithCancel(context.Background())
		b.under = func(n int) conditions {
			if n == 2 {
				cancel()
			}
			return conditions{known: true, throttles: -1}
		}
		if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		b.under = nil
		if got := b.file("configured"); got != "on" {
			t.Fatalf("configured is %q after Ctrl-C", got)
		}
		if open := b.record().Changed(); len(open) != 0 {
			t.Fatalf("open: %v", open)
		}
		if rebooted {
			b.reboot()
		}
		before := len(b.record().Runs)
		b.fails(b.run(), "reboot")
		if went := len(b.record().Runs) > before; went == rebooted {
			t.Errorf("rebooted %v: runs were added %v", rebooted, went)
		}
		b.rebootToTheEnd()
		testkit.Is(t, "on", b.file("configured"), "rebooted", rebooted, "configured is", "at the end and was on")
	}
}

// rebootToTheEnd resumes after as many reboots as it takes.
func (b *bench) rebootToTheEnd() {
	b.t.Helper()
	for range 100 {
		b.reboot()
		err := b.run()
		if err == nil {
			b.complete()
			return
		}
		if _, ok := errors.AsType[*Waiting](err); !ok {
			b.t.Fatal(err)
		}
	}
	b.t.Fatal("no end")
}

// What the next boot would bring is not what a factor was before the experiment,
// also where the running level is the experiment's still.
func TestOriginalOfAResumeInTheSameBoot(t *testing.T) {
	b := rebootBench(t, 2, rebootStudy)
	for off := false; !off; {
		b.fails(b.run(), "reboot")
		off = b.file("configured") == "off"
		b.reboot()
	}
	for range 2 {
		n := b.runs
		ctx, cancel := context.WithCancel(context.Background())
		b.under = func(k int) conditions {
			if k == n+1 { // after the warm-up
				cancel()
			}
			return conditions{known: true, throttles: -1}
		}
		if err := b.runCtx(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := b.file("configured"); got != "on" {
			t.Fatalf("configured is %q after Ctrl-C and was on", got)
		}
	}
	b.under = nil
	b.fails(b.run(), "reboot")
	if open := b.record().Changed(); len(open) != 1 || open[0].Value != "on" {
		t.Errorf("the original is taken to be %+v", open)
	}
	b.rebootToTheEnd()
	testkit.Is(t, "on", b.file("configured"), "configured is", "at the end and was on")
}

// A kill may fall between the announcement of a level and the end of the command
// that brings it about.
func TestKilledBeforeALevelWasApplied(t *testing.T) {
	unread := strings.Replace(rebootStudy, `read = ["cat", "running"]`, `restore = ["sh", "-c", "echo on > configured"]`,
		1)
	for name, c := range map[string]struct {
		study    string
		rebooted bool
	}{
		"same boot":                  {rebootStudy, false},
		"same boot, without a read":  {unread, false},
		"after a boot, without read": {unread, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := rebootBench(t, 2, c.study)
			s := testkit.Must(begin(t.Context(), Config{Study: b.study, Dir: b.cfg.Dir, sys: b.cfg.sys}))(t)
			testkit.OK(t, s.levels.begin(context.Background()))
			l := s.levels.levers[0]
			want := s.x.Cells[s.x.Blocks[0].Plots[0][0]].Levels[l.Name]
			testkit.OK(t, s.store.Journal(store.Entry{Op: store.Pending, At: s.sys.now(), Boot: s.boot, Factor: l.Name,
				Value: want}))
			s.store.Close() // as a kill does
			b.write("configured", "neither\n")
			if c.rebooted {
				b.reboot()
				b.fails(b.run(), "nobody knows", "--resume")
			}
			if err := b.run(); len(b.record().Runs) != 0 {
				t.Fatalf("runs at a level that was never applied: %v", err)
			}
			testkit.Is(t, want, b.file("configured"), "configured is", "and the resume asks for a reboot to")
			b.rebootToTheEnd()
		})
	}
}

const manualStudy = `
[[factor]]
name = "bios"
change = "manual"
levels = ["perf", "eco"]
baseline = "perf"
manual = "set the power profile to {level} in the setup"
read = ["cat", "bios"]
` + nullWorkload

// Without a terminal each plot ends with what to do; a resume checks that it was.
func TestManualWithoutATerminal(t *testing.T) {
	b := newBench(t, head(6, "")+manualStudy)
	b.write("bios", "perf\n")
	for n := 0; ; n++ {
		err := b.run()
		if err == nil {
			break
		}
		waiting, ok := errors.AsType[*Waiting](err)
		if !ok || n > 100 {
			t.Fatal(err)
		}
		level := "perf"
		if strings.Contains(waiting.Text, "set the power profile to eco in the setup") {
			level = "eco"
		}
		if b.file("bios") != level && n < 4 {
			again := b.run()
			if w, ok := errors.AsType[*Waiting](again); !ok || !strings.Contains(w.Text, "reads") {
				t.Fatalf("nothing was done, and: %v", again)
			}
		}
		b.write("bios", level+"\n")
	}
	r := b.record()
	for _, run := range r.Runs {
		if want := r.Experiment.Cells[run.Cell].Levels["bios"]; run.Status == result.OK && run.Before["bios"] != want {
			t.Errorf("a run at %s read %s", want, run.Before["bios"])
		}
	}
	if b.file("bios") != "perf" {
		if open := r.Changed(); len(open) != 1 || !strings.Contains(strings.Join(b.notes, "\n"),
			"Put factor bios back to perf") {
			t.Errorf("open %v, notes %q", open, b.notes)
		}
	}
}

func TestManualOnATerminal(t *testing.T) {
	b := newBench(t, head(6, "")+manualStudy)
	b.write("bios", "perf\n")
	asked := 0
	b.cfg.Confirm = func(prompt string) error {
		asked++
		for _, level := range []string{"perf", "eco"} {
			if strings.Contains(prompt, "set the power profile to "+level) {
				if there := b.file("bios") == level; there != strings.Contains(prompt, "already") {
					t.Errorf("the profile is %s, and asked was: %s", b.file("bios"), prompt)
				}
				b.write("bios", level+"\n")
			}
		}
		return nil
	}
	testkit.OK(t, b.run())
	plots := 0
	for _, block := range b.record().Experiment.Blocks {
		plots += len(block.Plots)
	}
	if asked < plots || b.file("bios") != "perf" || len(b.record().Changed()) != 0 {
		t.Errorf("asked %d times for %d plots; %s at the end, open %v", asked, plots, b.file("bios"), b.record().Changed())
	}
	// Each plot begins with a warm-up, as it does after a boot.
	warm := map[string]int{}
	for _, r := range b.record().Runs {
		if r.Status == result.WarmUp {
			warm[fmt.Sprint(r.Block, r.Plot)]++
		}
	}
	testkit.Is(t, plots, len(warm), "plots had a warm-up")
	// Refusing is waiting.
	b = newBench(t, head(6, "")+manualStudy)
	b.write("bios", "perf\n")
	b.cfg.Confirm = func(string) error { return errors.New("no") }
	if _, ok := errors.AsType[*Waiting](b.run()); !ok {
		t.Error("not waiting")
	}
}

// What a killed session left is found by a report, put back by Restore, and not
// where somebody else has been there since.
func TestRestoreAfterAKill(t *testing.T) {
	for found, c := range map[string]struct {
		force bool
		want  string // level afterwards
	}{
		"high":     {false, "original"},
		"original": {false, "original"},
		"":         {false, "original"}, // cut short while it was written
		"tuned":    {false, "tuned"},
		"tuned ":   {true, "original"},
	} {
		b := newBench(t, head(6, "")+levelFactor+nullWorkload)
		s := testkit.Must(begin(t.Context(), Config{Study: b.study, Dir: b.cfg.Dir, sys: b.cfg.sys}))(t)
		testkit.OK(t, s.levels.begin(context.Background()))
		s.store.Close() // as a kill does
		b.write("level", found+"\n")
		if r := b.record(); len(r.Changed()) != 1 || r.Changed()[0].Value != "original" {
			t.Fatalf("open in the journal: %v", r.Changed())
		}
		cfg := b.cfg
		cfg.Study, cfg.Force = b.study, c.force
		err := Restore(context.Background(), cfg)
		testkit.Is(t, c.want, b.level(), "found", found, "left", err)
		if (err == nil) != (c.want == "original") || (len(b.record().Changed()) == 0) != (c.want == "original") {
			t.Errorf("found %q: %v, open %v", found, err, b.record().Changed())
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	s := testkit.Must(begin(t.Context(), Config{Study: b.study, Dir: b.cfg.Dir, sys: b.cfg.sys}))(t)
	defer s.store.Close()
	err := b.run()
	b.fails(err, fmt.Sprintf("another hostlab, pid %d, is running in", os.Getpid()))
	if _, ok := errors.AsType[*lockfile.Busy](err); !ok {
		t.Error("not busy")
	}
	testkit.Is(t, "original", b.level(), "a refused run changed the level")
}

// Recorded reads the study back as it was begun.
func TestRecorded(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	testkit.OK(t, b.run())
	st := testkit.Must(Recorded(b.cfg.Dir, nil))(t)
	testkit.Is(t, b.dir, st.Dir, "its directory is")
	b.study = st
	if err := b.run(); err != nil {
		t.Error(err)
	}
}
