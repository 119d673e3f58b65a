package logcommit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func open(t *testing.T, cfg Config) *Log {
	t.Helper()
	l := testkit.Must(Open(cfg))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func small(dir string, layout Layout) Config {
	return Config{Dir: dir, Bytes: 8 * CommitBytes, Layout: layout, Seed: 1}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		t.Errorf("left behind: %s", e.Name())
	}
}

func TestLayouts(t *testing.T) {
	for _, layout := range []Layout{Allocated, Extending, Overwritten} {
		t.Run(string(layout), func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, small(dir, layout))
			if l.Layout() != layout {
				t.Errorf("layout %s", l.Layout()) // the file systems that tests run on can allocate
			}
			size := func() int64 {
				info := testkit.Must(l.f.Stat())(t)
				testkit.Is(t, 0o600, info.Mode(), "mode")
				return info.Size()
			}
			if got, want := size(), map[Layout]int64{Allocated: l.cfg.Bytes, Extending: 0,
				Overwritten: l.cfg.Bytes}[layout]; got != want {
				t.Errorf("%d bytes before the first commit, want %d", got, want)
			}
			times, err := l.Block(context.Background(), 5, nil)
			if err != nil || len(times) != 5 {
				t.Fatalf("%d commits, %v", len(times), err)
			}
			for _, s := range times {
				if s <= 0 || s > 60 {
					t.Errorf("a commit took %v s", s)
				}
			}
			if layout == Extending && size() != 5*CommitBytes {
				t.Errorf("%d bytes after 5 commits", size())
			}
			// 5 more do not fit into the 3 that are left: the file starts again first.
			if _, err := l.Block(context.Background(), 5, nil); err != nil || l.off != 5*CommitBytes {
				t.Errorf("at %d after starting again, %v", l.off, err)
			}
			for range 20 { // and by single commits, whenever it is full
				testkit.Must(l.Commit())(t)
			}
			if size() > l.cfg.Bytes {
				t.Errorf("%d bytes, more than %d", size(), l.cfg.Bytes)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Errorf("closing again: %v", err)
			}
			mustBeEmpty(t, dir)
		})
	}
}

// TestContent: each commit writes what the seed says, and not what the one before
// it wrote, in no sector.
func TestContent(t *testing.T) {
	read := func(seed uint64) []byte {
		cfg := small(t.TempDir(), Allocated)
		cfg.Seed = seed
		l := open(t, cfg)
		testkit.Must(l.Block(context.Background(), 2, nil))(t)
		b := testkit.Must(contents(l))(t)
		return b[:2*CommitBytes]
	}
	a, b, c := read(1), read(1), read(2)
	testkit.Is(t, string(b), string(a), "the same seed wrote something else")
	if string(a) == string(c) {
		t.Error("another seed wrote the same")
	}
	for s := 0; s < CommitBytes; s += 512 {
		if string(a[s:s+512]) == string(a[CommitBytes+s:CommitBytes+s+512]) {
			t.Errorf("sector at %d is the same in both commits", s)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, cfg := range []Config{
		{Dir: dir, Bytes: 0, Layout: Allocated},
		{Dir: dir, Bytes: CommitBytes + 1, Layout: Allocated},
		{Dir: dir, Bytes: MaxFileBytes + CommitBytes, Layout: Allocated},
		{Dir: dir, Bytes: CommitBytes, Layout: "sideways"},
		{Dir: dir + "/none", Bytes: CommitBytes, Layout: Allocated},
	} {
		if l, err := Open(cfg); err == nil {
			l.Close()
			t.Errorf("%+v was accepted", cfg)
		}
	}
	_, err := Open(Config{Dir: dir + "/none", Bytes: CommitBytes, Layout: Allocated})
	if _, ok := errors.AsType[*DirError](err); !ok {
		t.Errorf("%v is not a *DirError", err)
	}
	mustBeEmpty(t, dir)
}

// TestCancelLeavesNothing cancels at fifty moments of a run.
func TestCancelLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.Int64N(int64(4*time.Millisecond))))
		done := 0
		err := func() error {
			l, err := Open(small(dir, []Layout{Allocated, Extending, Overwritten}[i%3]))
			if err != nil {
				return err
			}
			defer l.Close()
			times, err := l.Block(ctx, 1_000_000, nil)
			done = len(times)
			return err
		}()
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("run %d: %v", i, err)
		}
		if done > 500_000 {
			t.Fatalf("run %d did %d commits after it was cancelled", i, done)
		}
		mustBeEmpty(t, dir)
	}
}

func TestPanicLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		l := testkit.Must(Open(small(dir, Allocated)))(t)
		defer l.Close()
		panic("while the log is open")
	}()
	mustBeEmpty(t, dir)
}

// contents reads the file, which has no name, past its own flags.
func contents(l *Log) ([]byte, error) { return os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", l.f.Fd())) }
