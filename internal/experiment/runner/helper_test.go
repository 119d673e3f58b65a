package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/delayfs"
	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

func TestMain(m *testing.M) {
	aloneName = fmt.Sprintf("@hostlab-live-test-%d", os.Getpid())
	registryAt = os.Getenv("RUNNER_TEST_REGISTRY")
	if registryAt == "" {
		registryAt = filepath.Join(os.TempDir(), fmt.Sprintf("hostlab-live-test-%d", os.Getpid()))
		os.Setenv("RUNNER_TEST_REGISTRY", registryAt) // of the children
	}
	if os.Getenv("RUNNER_TEST_CHILD")+os.Getenv("RUNNER_TEST_LIVE") != "" {
		aloneName = fmt.Sprintf("@hostlab-live-test-%d", os.Getppid())
	}
	if dir := os.Getenv("RUNNER_TEST_CHILD"); dir != "" && os.Getenv(worker.Env) == "" {
		killChild(dir)
	}
	if dir := os.Getenv("RUNNER_TEST_LIVE"); dir != "" {
		withServed(dir)
		if os.Getenv(worker.Env) == "" {
			liveChild(dir)
		}
	}
	worker.Main(slices.Concat(emulate.Jobs(), delayfs.Jobs(), Jobs()))
	code := m.Run()
	os.RemoveAll(registryAt)
	os.Exit(code)
}

// levelFactor is a factor of commands that keep their level in the file "level".
const levelFactor = `
[[factor]]
name = "power"
levels = ["low", "high"]
baseline = "low"
apply = ["sh", "-c", "echo {level} > level"]
read = ["cat", "level"]
`

// nullWorkload takes no time.
const nullWorkload = `
[workload]
name = "null"
warmup = 1
retries = 2
[[response]]
name = "seconds"
primary = true
`

// head is the beginning of a study that runs so many blocks.
func head(blocks int, more string) string {
	return fmt.Sprintf("schema = 1\n[study]\nname = \"t\"\nseed = 7\n%s\n[design]\nlooks = [%d]\n", more, blocks)
}

// bench is a study in a directory, with a fake host.
type bench struct {
	t     *testing.T
	dir   string // of the study
	tree  string // of the machine whose settings are changed
	study *experiment.Study
	cfg   Config
	notes []string
	bootN int
	host  map[string]string
	under func(n int) conditions // of the nth run, from 0
	runs  int
}

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), host: map[string]string{"kernel": "6.1"}}
	b.write("level", "original\n")
	b.load(text)
	b.cfg = Config{Dir: filepath.Join(t.TempDir(), "record"), Version: "test"}
	b.cfg.Watch = func(p Progress) {
		if p.Note != "" {
			b.notes = append(b.notes, p.Note)
		}
	}
	b.tree = t.TempDir()
	b.cfg.sys = &system{
		tree:     host.Tree{Root: b.tree},
		settings: b.settings(),
		journal:  filepath.Join(b.tree, "journal"),
		now:      time.Now,
		sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		boot:     func() string { return fmt.Sprintf("boot-%d", b.bootN) },
		fingerprint: func(names []string) map[string]string {
			out := map[string]string{}
			for _, n := range names {
				if v, ok := b.host[n]; ok {
					out[n] = v
				}
			}
			return out
		},
		watch: func() func() conditions {
			n := b.runs
			b.runs++
			return func() conditions {
				if b.under != nil {
					return b.under(n)
				}
				return conditions{known: true, throttles: -1}
			}
		},
	}
	return b
}

func (b *bench) load(text string) {
	b.t.Helper()
	b.study = parse(b.t, b.dir, text)
}

func parse(t testing.TB, dir, text string) *experiment.Study {
	t.Helper()
	st := testkit.Must(experiment.Parse(filepath.Join(dir, "s.toml"), dir, []byte(text), experiment.Overrides{}, Known()))(t)
	return st
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	testkit.OK(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
}

func (b *bench) level() string {
	b.t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(b.dir, "level")))(b.t)
	return strings.TrimSpace(string(text))
}

func (b *bench) run() error { return b.runCtx(context.Background()) }

func (b *bench) runCtx(ctx context.Context) error {
	b.t.Helper()
	cfg := b.cfg
	cfg.Study = b.study
	if _, err := os.Stat(cfg.Dir); err == nil {
		cfg.Resume = true
	}
	_, err := Run(ctx, cfg)
	return err
}

func (b *bench) record() *store.Record {
	b.t.Helper()
	r := testkit.Must(store.Load(b.cfg.Dir))(b.t)
	return r
}

// complete reports what is not as it should be after an experiment has ended.
func (b *bench) complete() {
	b.t.Helper()
	r := b.record()
	count := map[result.At]int{}
	for _, run := range r.Runs {
		if run.Status == result.OK {
			count[run.At()]++
		}
	}
	for i, block := range r.Experiment.Blocks[:r.Experiment.Planned()] { // stretches are made where they are asked for
		for p, plot := range block.Plots {
			for s := range plot {
				if n := count[result.At{Block: i, Plot: p, Slot: s}]; n != 1 {
					b.t.Errorf("block %d, plot %d, slot %d has %d OK runs", i, p, s, n)
				}
			}
		}
	}
	if r.End == nil {
		b.t.Error("it has not ended")
	}
	b.putBack()
}

func (b *bench) putBack() {
	b.t.Helper()
	testkit.Is(b.t, "original", b.level(), "the level is", "and was original")
	if open := b.record().Changed(); len(open) > 0 {
		b.t.Errorf("still open in the journal: %v", open)
	}
}

func (b *bench) fails(err error, want ...string) {
	b.t.Helper()
	if err == nil {
		b.t.Fatal("no error")
	}
	for _, w := range want {
		testkit.Has(b.t, err.Error(), w)
	}
}

// failed are the reasons of the runs that have failed, in order.
func (b *bench) failed() (reasons []string) {
	for _, r := range b.record().Runs {
		if r.Status == result.Failed {
			reasons = append(reasons, r.Reason)
		}
	}
	return reasons
}

// statuses of the runs that are no warm-up, in order.
func (b *bench) statuses() (list []string) {
	for _, r := range b.record().Runs {
		if r.Status != result.WarmUp {
			list = append(list, fmt.Sprintf("%d.%d:%s", r.Block, r.Slot, r.Status))
		}
	}
	return list
}

// settings are those of the directory that is the machine by now.
func (b *bench) settings() *setting.System {
	b.t.Helper()
	root := testkit.Must(os.OpenRoot(b.tree))(b.t)
	b.t.Cleanup(func() { root.Close() })
	return setting.Local(root)
}
