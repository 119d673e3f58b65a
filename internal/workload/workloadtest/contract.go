// Package workloadtest is the contract that every workload keeps, as tests.
package workloadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/workload"
)

// Config says how to try a workload.
type Config struct {
	Params map[string]any  // of a run that takes some milliseconds
	Long   map[string]any  // of one that takes some seconds, to be cancelled
	Picks  []workload.Pick // where the workload has them
	Levels map[string]string
	Dirs   []string // further directories that must be as before

	Operations int64 // that a run of Params makes, or Some
	// Work tells what the last run of Params did as far as the seed decides it. It has
	// to be the same for the same seed and another for another. nil where Unseeded says
	// why a seed decides nothing.
	Work     func(t *testing.T, s workload.Session, got workload.Sample) any
	Unseeded string

	// Stalled opens a session with open arrivals, so many a second, one operation of
	// which takes stall. nil for workloads without them.
	Stalled func(t *testing.T, stall time.Duration) (s workload.Session, r workload.Request, perSecond float64)
}

// Some is the number of operations where that depends on the host.
const Some = -1

// soon is within what a cancelled run has to end. It is far more than an idle host needs:
// a busy one has been seen to take two seconds.
const soon = 5 * time.Second

func Contract(t *testing.T, w workload.Workload, cfg Config) {
	t.Run("description", func(t *testing.T) { description(t, w) })
	t.Run("runs", func(t *testing.T) { newBench(t, w, cfg).runs(t) })
	t.Run("seeded", func(t *testing.T) { newBench(t, w, cfg).seeded(t) })
	t.Run("cancelled", func(t *testing.T) { newBench(t, w, cfg).cancelled(t) })
	t.Run("open cancelled", func(t *testing.T) { newBench(t, w, cfg).openCancelled(t) })
	if cfg.Stalled != nil {
		t.Run("latency from the intended start", func(t *testing.T) { stalled(t, cfg) })
	}
}

// bench is a workload with directories of its own.
type bench struct {
	w    workload.Workload
	cfg  Config
	dir  string
	work string
}

// newBench also sees to it that the test leaves nothing behind.
func newBench(t *testing.T, w workload.Workload, cfg Config) *bench {
	t.Helper()
	b := &bench{w: w, cfg: cfg, dir: t.TempDir(), work: t.TempDir()}
	// The first watch of a signal starts a goroutine of package os/signal that stays.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	before := b.state(t)
	t.Cleanup(func() {
		var diff string
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			after := b.state(t)
			after.Goroutines = max(after.Goroutines, before.Goroutines) // fewer are others' that have ended
			if diff = cmp.Diff(before, after); diff == "" {
				return
			}
		}
		t.Errorf("left behind (-before +after):\n%s", diff)
	})
	return b
}

// state is what a workload must leave as it was.
type state struct {
	Files      []string
	Children   []string
	Goroutines int
}

func (b *bench) state(t *testing.T) (s state) {
	for _, root := range append([]string{b.dir, b.work}, b.cfg.Dirs...) {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			s.Files = append(s.Files, path)
			return err
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) { // gone while we looked: the next look tells
			t.Fatal(err)
		}
	}
	s.Children = children()
	s.Goroutines = runtime.NumGoroutine()
	return s
}

// children are the processes that this one has started, where /proc tells.
func children() (out []string) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		text := string(b)
		if f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			out = append(out, text[:strings.LastIndexByte(text, ')')+1])
		}
	}
	return out
}

func (b *bench) values(t *testing.T, given map[string]any) workload.Params {
	t.Helper()
	v, err := workload.Check(b.w.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b *bench) open(t *testing.T, given map[string]any) (workload.Session, workload.Request) {
	t.Helper()
	v := b.values(t, given)
	s, err := b.w.Open(t.Context(), workload.Config{Params: v, Picks: b.cfg.Picks, Dir: b.dir, Work: b.work})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, workload.Request{Params: v, Levels: b.cfg.Levels, Seed: 1}
}

// runs: twice in a session, every response in one of the two maps, finite, and
// operations counted; Close twice.
func (b *bench) runs(t *testing.T) {
	s, r := b.open(t, b.cfg.Params)
	for range 2 {
		got, err := s.Run(t.Context(), r)
		if err != nil {
			t.Fatalf("Run: %v", err)
		}
		want := []string{}
		for _, d := range b.w.Describe().Responses {
			want = append(want, d.Name)
		}
		for _, p := range b.cfg.Picks {
			want = append(want, p.Name)
		}
		slices.Sort(want)
		have := slices.AppendSeq(slices.Collect(maps.Keys(got.Values)), maps.Keys(got.Missing))
		slices.Sort(have)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("each response is to be in Values or in Missing (-want +got):\n%s", diff)
		}
		for name, v := range got.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s = %v", name, v)
			}
		}
		for name, why := range got.Missing {
			if why == "" {
				t.Errorf("%s is missing for no reason", name)
			}
		}
		if n := b.cfg.Operations; n == Some && got.Operations < 1 || n != Some && got.Operations != n {
			t.Errorf("%d operations counted, %d made", got.Operations, b.cfg.Operations)
		}
		if l := got.Latency; l != nil {
			sum := int64(0)
			for _, n := range l.Count {
				sum += int64(n)
			}
			if sum != got.Operations || len(l.Edge) != len(l.Count) || !slices.IsSorted(l.Edge) || l.Unit != "s" {
				t.Errorf("a distribution of %d operations for %d: %+v", sum, got.Operations, l)
			}
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// seeded: the same seed does the same work again, whatever the session did before,
// and another seed does other work.
func (b *bench) seeded(t *testing.T) {
	if (b.cfg.Work == nil) == (b.cfg.Unseeded == "") {
		t.Fatal("either Work tells what a seed decides, or Unseeded why it decides nothing")
	}
	if b.cfg.Work == nil {
		return
	}
	did := map[uint64]any{}
	for _, seeds := range [][]uint64{{7, 8, 7}, {8}} {
		s, r := b.open(t, b.cfg.Params)
		for _, seed := range seeds {
			r.Seed = seed
			got, err := s.Run(t.Context(), r)
			if err != nil {
				t.Fatalf("Run: %v", err)
			}
			now := b.cfg.Work(t, s, got)
			if before, ok := did[seed]; ok {
				if diff := cmp.Diff(before, now); diff != "" {
					t.Errorf("seed %d did other work the second time (-first +second):\n%s", seed, diff)
				}
			}
			did[seed] = now
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if cmp.Equal(did[7], did[8]) {
		t.Errorf("seeds 7 and 8 did the same work: %v", did[7])
	}
}

// Responses is a Work that compares responses which follow from the seed.
func Responses(names ...string) func(*testing.T, workload.Session, workload.Sample) any {
	return func(t *testing.T, _ workload.Session, got workload.Sample) any {
		t.Helper()
		out := map[string]float64{}
		for _, name := range names {
			v, ok := got.Values[name]
			if !ok {
				t.Fatalf("no %s: %s", name, got.Missing[name])
			}
			out[name] = v
		}
		return out
	}
}

// cancelled: a run that is cancelled, in its midst or before, ends soon, and the
// session still works.
func (b *bench) cancelled(t *testing.T) {
	s, r := b.open(t, b.cfg.Long)
	short := r
	short.Params = b.values(t, b.cfg.Params)
	for _, after := range []time.Duration{0, 150 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		if after == 0 {
			cancel()
		}
		timer := time.AfterFunc(after, cancel)
		began := time.Now()
		_, err := s.Run(ctx, r)
		took := time.Since(began)
		if timer.Stop() && after > 0 {
			t.Fatalf("a long run ended by itself, with %v", err)
		}
		if took > after+soon {
			t.Errorf("the run ended %v after it was cancelled", took-after)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %v, the run ended with %v", after, err)
		}
		cancel()
		if _, err := s.Run(t.Context(), short); err != nil {
			t.Errorf("a run after a cancelled one: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := s.Run(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time, the run ended with %v", err)
	}
}

// openCancelled: an Open that is cancelled leaves nothing, which newBench sees to.
func (b *bench) openCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := b.w.Open(ctx, workload.Config{Params: b.values(t, b.cfg.Params), Picks: b.cfg.Picks, Dir: b.dir,
		Work: b.work})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Open gave %v", err)
	}
	if err == nil {
		s.Close()
	}
}

// stalled: what arrives during a stall counts its wait.
func stalled(t *testing.T, cfg Config) {
	const stall = 200 * time.Millisecond
	s, r, perSecond := cfg.Stalled(t, stall)
	defer s.Close()
	got, err := s.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got.Latency == nil {
		t.Fatal("open arrivals, and no distribution")
	}
	late := 0
	for i, n := range got.Latency.Count {
		if i > 0 && got.Latency.Edge[i-1] >= stall.Seconds()/4 {
			late += n
		}
	}
	// Those due in the first three quarters of the stall waited more than a quarter of it.
	if least := perSecond * stall.Seconds() / 2; float64(late) < least {
		t.Errorf("%d operations waited for a stall of %v, expected at least %.0f at %.0f a second", late, stall, least,
			perSecond)
	}
}
