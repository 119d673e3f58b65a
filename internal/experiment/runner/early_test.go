package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// heard makes a bench collect the runs that are to be spoken of.
func (b *bench) heard() *[]string {
	var list []string
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		if watch(p); p.Say {
			list = append(list, fmt.Sprintf("%d.%d %s", p.Last.Block, p.Last.Slot, p.Last.Reason+p.Last.Contaminated))
		}
	}
	return &list
}

// busy makes others take a share of the CPUs, another one in each of these runs.
func (b *bench) busy(which func(n int) bool) {
	b.under = func(n int) conditions {
		c := conditions{known: true, throttles: -1}
		if which(n) {
			c.Taken = proc.Taken{Foreign: 0.1 + float64(n)/100}
		}
		return c
	}
}

// take gives each run so much time on the host's clock.
func (b *bench) take(d time.Duration) {
	base := time.Now()
	b.cfg.sys.now = func() time.Time { return base.Add(time.Duration(b.runs) * d) }
}

const (
	limit3 = "[guard]\nmax_foreign_cpu = \"3%\"\n"
	marked = limit3 + "exhausted = \"mark\"\n"
)

func always(int) bool { return true }

// The first disturbed run is spoken of with the guard, its limit and the reading, and others like it
// are not; where disturbed runs are marked in the end, what that costs is said once.
func TestFirstRunsDisturbed(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload+marked)
	heard := b.heard()
	b.busy(always)
	b.take(time.Hour)
	testkit.OK(t, b.run())
	if len(*heard) != 1 || !strings.Contains((*heard)[0],
		"other processes took 10 % of the CPUs, above max_foreign_cpu 3 %") {
		t.Errorf("heard %q", *heard)
	}
	if n := len(b.notes); n != 1 || !strings.Contains(b.notes[0], "all of the first 2 runs were disturbed") ||
		!strings.Contains(b.notes[0], "up to 3 times") {
		t.Errorf("notes %q", b.notes)
	}
}

// Each kind of problem is spoken of once: a guard, a command, a read-back.
func TestFirstRunsOfEachKind(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+strings.Replace(nullWorkload, "retries = 2", "retries = 9\nfail = 3",
		1)+limit3)
	heard := b.heard()
	b.busy(func(n int) bool { return n < 9 })
	testkit.OK(t, b.run())
	kinds := map[bool]int{}
	for _, h := range *heard {
		kinds[strings.Contains(h, "max_foreign_cpu")]++
	}
	if kinds[true] != 1 || kinds[false] != 1 {
		t.Errorf("heard %q", *heard)
	}
}

// Once runs count, a disturbed one is nothing to speak of, and half a block of them is.
func TestLaterRunsDisturbed(t *testing.T) {
	study := head(8, "") + strings.Replace(levelFactor, `"low", "high"`, `"low", "high", "mid", "top"`,
		1) + nullWorkload + limit3
	for name, c := range map[string]struct {
		which func(n int) bool
		want  int
	}{
		"one run":      {func(n int) bool { return n == 6 || n == 12 }, 0},
		"half a block": {func(n int) bool { return n >= 6 && n < 9 }, 1},
	} {
		b := newBench(t, study)
		heard := b.heard()
		b.busy(c.which)
		testkit.OK(t, b.run())
		testkit.Is(t, c.want, len(*heard), name, "heard", *heard)
	}
}

// A session in which no run counts ends long before every run has used up its tries.
func TestNoRunCounts(t *testing.T) {
	for name, c := range map[string]struct {
		each time.Duration
		more string
		runs int
		want string
	}{
		"short runs": {25 * time.Second, limit3, 4,
			"stopped: none of the first 4 runs counts, the last because other processes took"},
		"long runs": {20 * time.Minute, limit3, 2, "none of the first 2 runs counts"},
		// over before whatever disturbs may be; by the seed, one of two has had 4
		"blinks":       {time.Second, limit3, 10, "void or failed 6 times"},
		"read-back":    {time.Minute, "", 4, "none of the first 4 runs counts, the last because factor power reads"},
		"with marking": {time.Minute, marked, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			factor := levelFactor
			if name == "read-back" {
				factor = strings.Replace(factor, `"echo {level} > level"`, `"echo {level}"`, 1)
			}
			b := newBench(t, head(6, "")+factor+strings.Replace(nullWorkload, "warmup = 1\nretries = 2",
				"warmup = 0\nretries = 5", 1)+c.more)
			b.busy(always)
			b.take(c.each)
			if name == "read-back" { // it ends before the watcher is asked
				base, n := time.Now(), 0
				b.cfg.sys.now = func() time.Time { n++; return base.Add(time.Duration(n) * 10 * time.Second) }
			}
			err := b.run()
			if c.want == "" {
				if err != nil || b.record().End == nil {
					t.Errorf("it has not gone on: %v", err)
				}
				return
			}
			b.fails(err, c.want, "remove the cause, then continue with: hostlab run --resume --out "+b.cfg.Dir)
			testkit.Is(t, c.runs, len(b.statuses()), "runs")
			b.putBack()
			for _, r := range b.record().Runs {
				if r.Status == result.OK {
					t.Error("a run has counted")
				}
			}
		})
	}
}
