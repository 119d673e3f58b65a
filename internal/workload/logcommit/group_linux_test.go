package logcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// request runs what a study would: parameters checked, and the rest at their defaults.
func request(t *testing.T, given map[string]any) workload.Request {
	t.Helper()
	v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
	return workload.Request{Params: v, Seed: 1}
}

// Every block of every writer is in the file once, whatever way it was made durable, and
// writers who wait share a write.
func TestWritersCommitTogether(t *testing.T) {
	const writers, each, block = 8, 20, 512
	for _, sync := range []Sync{DataSync, DSync} {
		cfg := Config{Dir: t.TempDir(), Bytes: writers * each * block, Block: block, Layout: Allocated, Sync: sync, Seed: 3}
		l := open(t, cfg)
		g := newGroup(l, newClock(), writers, true)
		run(t, g, writers, each)
		if g.added != writers*each || g.durable != g.added || l.count != g.added {
			t.Errorf("%s: %d blocks added, %d durable, %d numbered", sync, g.added, g.durable, l.count)
		}
		if g.writes > int64(g.added) || g.writes < each {
			t.Errorf("%s: %d writes of %d blocks", sync, g.writes, g.added)
		}
		b := testkit.Must(contents(l))(t)
		seen := map[string]bool{}
		for i := 0; i < len(b); i += block {
			seen[string(b[i:i+8])] = true
			if !bytes.Equal(b[i+8:i+block], l.buf[8:]) {
				t.Fatalf("%s: block %d is torn", sync, i/block)
			}
		}
		testkit.Is(t, writers*each, len(seen), sync, "different blocks in the file")
	}
}

func run(t *testing.T, g *group, writers, each int) {
	t.Helper()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if err := g.commit(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A writer that finds the log busy waits; all who came meanwhile share the next write.
func TestGroupSharesTheNextWrite(t *testing.T) {
	for together, want := range map[bool]int64{true: 2, false: 6} {
		l := open(t, small(t.TempDir(), Allocated))
		g := newGroup(l, newClock(), 6, together)
		g.leading = true // as if a leader were at the log
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := g.commit(); err != nil {
					t.Error(err)
				}
			})
		}
		deadline := testkit.End(t)
		for together && time.Now().Before(deadline) {
			g.mu.Lock()
			n := g.added
			g.mu.Unlock()
			if n == 5 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		g.mu.Lock()
		g.leading = false
		g.woken.Broadcast()
		g.mu.Unlock()
		all.Wait()
		if err := g.commit(); err != nil {
			t.Error(err)
		}
		testkit.Is(t, want, g.writes, "together", together, "writes")
	}
}

// After a write that failed nobody is told that a commit is durable.
func TestGroupFails(t *testing.T) {
	f := testkit.Must(os.OpenFile("/dev/full", os.O_RDWR, 0))(t)
	l := open(t, small(t.TempDir(), Allocated))
	_ = l.f.Close()
	l.f = f
	g := newGroup(l, newClock(), 4, true)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, ok := errors.AsType[*DirError](g.commit()); !ok {
				t.Error("a commit to a full device went well, or failed in other words")
			}
		})
	}
	all.Wait()
}

// The clock stands still while the file is laid out anew.
func TestClockStops(t *testing.T) {
	c := newClock()
	c.stop()
	a := c.now()
	time.Sleep(5 * time.Millisecond)
	testkit.Is(t, a, c.now(), "stopped at", "now")
	c.start()
	if c.aside < 5*time.Millisecond {
		t.Errorf("%v set aside", c.aside)
	}
	if c.now() < a {
		t.Error("the clock went back")
	}
}

func TestBlocksAndSyncs(t *testing.T) {
	for _, c := range []struct {
		sync    Sync
		block   int64
		writers int64
		group   bool
	}{{DataSync, 512, 1, true}, {DSync, 8192, 3, true}, {DSync, 64 << 10, 2, false}, {Direct, 4096, 2, true}} {
		t.Run(fmt.Sprintf("%s %d", c.sync, c.block), func(t *testing.T) {
			r := request(t, map[string]any{"sync": string(c.sync), "block": c.block, "writers": c.writers, "group": c.group,
				"count": int64(30), "lead": int64(0), "size": int64(256 << 10), "work": int64(1000)})
			dir := t.TempDir()
			s, err := Workload{}.Open(t.Context(), workload.Config{Params: r.Params, Dir: dir, Work: dir})
			if c.sync == Direct && err != nil && strings.Contains(err.Error(), "O_DIRECT") {
				t.Logf("not on this file system: %v", err)
				mustBeEmpty(t, dir)
				return
			}
			testkit.OK(t, err)
			defer s.Close()
			got := testkit.Must(s.Run(t.Context(), r))(t)
			if got.Operations != 30 || got.Values["log_write"] <= 0 || got.Values["log_writes"] > 30 || !c.group &&
				got.Values["log_writes"] != 30 ||
				got.Values["log_share"] <= 0 || got.Values["log_share"] > 1 || got.Values["application"] <= 0 {
				t.Errorf("%+v", got.Values)
			}
			if sum := got.Values["application"] + got.Values["log_wait"]; sum > got.Values["wall"] {
				t.Errorf("a writer spent %v s of %v s", sum, got.Values["wall"])
			}
		})
	}
}

// Where there is no DAX, one line says so, and nothing is left.
func TestMappedNeedsDAX(t *testing.T) {
	dir := t.TempDir()
	cfg := small(dir, Overwritten)
	cfg.Sync = Mapped
	l, err := Open(cfg)
	if err == nil { // the tests' directory is on DAX
		if _, err := l.Block(context.Background(), 20, nil); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	} else if d, ok := errors.AsType[*DirError](err); !ok || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(d.Error(), "MAP_SYNC") && !strings.Contains(d.Error(), "instruction") {
		t.Errorf("%v", err)
	}
	mustBeEmpty(t, dir)
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		given map[string]any
		want  string
	}{
		{map[string]any{"block": int64(1000)}, "block: 1000 is not a multiple of 512"},
		{map[string]any{"block": int64(64 << 10), "size": int64(100 << 10)}, "size: 102400 is not a multiple of 65536"},
		{map[string]any{"block": int64(4096), "size": int64(8192), "writers": int64(3)},
			"no room for a block of each of 3 writers"},
		{map[string]any{"sync": "mapped", "layout": "extending"}, "cannot grow"},
		{map[string]any{"work": int64(5), "rate": 10.0}, "take one of work and rate"},
	} {
		r := request(t, c.given)
		err := Workload{}.Validate(workload.Config{Params: r.Params})
		testkit.Fails(t, err, c.want, c.given, "gave", "in it")
	}
}
