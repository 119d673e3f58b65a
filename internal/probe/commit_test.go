//go:build system

package probe

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

func ioConfig(logDir string, budget time.Duration) Config {
	return Config{Facts: &host.Facts{}, LogDir: logDir, MemDir: "/dev/shm", CPUs: []int{0, 1}, Budget: budget, Seed: 1,
		Alpha: 0.05}
}

func byName(t *testing.T, o Outcome) map[string]result.Measurement {
	t.Helper()
	m := map[string]result.Measurement{}
	for _, x := range o.Measurements {
		if _, twice := m[x.Name]; twice {
			t.Errorf("%s is there twice", x.Name)
		}
		if x.Title == "" || x.Unit == "" || x.Probe != o.Probe || x.Known() != (x.Evidence == result.Measured) ||
			!x.Known() && x.Reason == "" {
			t.Errorf("incomplete: %+v", x)
		}
		if e := x.Estimate; e != nil && e.HasInterval() && !e.Contains(e.Value) {
			t.Errorf("%s: %v lies outside of [%v, %v]", x.Name, e.Value, e.Low, e.High)
		}
		m[x.Name] = x
	}
	return m
}

// leftovers are log files of this process in dir; others may run beside us in
// /dev/shm.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	return testkit.Must(filepath.Glob(filepath.Join(dir, ".hostlab-commit-"+strconv.Itoa(os.Getpid())+"-*")))(t)
}

func TestCommitRun(t *testing.T) {
	dir := t.TempDir()
	cfg := ioConfig(dir, 3*time.Second)
	var reports int
	cfg.Report = func(done, total time.Duration) {
		if reports++; done < 0 || done > total || total > cfg.Budget {
			t.Errorf("%v of %v done", done, total)
		}
	}
	out, err := one("commit").Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	if reports == 0 || out.Seconds <= 0 || out.Method == "" {
		t.Errorf("%d reports, %v s, method %q", reports, out.Seconds, out.Method)
	}
	m := byName(t, out)
	if order := []string{out.Measurements[0].Name, out.Measurements[1].Name,
		out.Measurements[2].Name}; !slices.Equal(order, []string{"commit.mean", "commit.p99", "commit.p50"}) {
		t.Errorf("the first figures are %q", order)
	}
	for _, name := range []string{"commit.mean", "commit.overwritten.mean", "commit.memory.mean", "commit.drift",
		"commit.p50", "commit.p99", "commit.max", "commit.rate", "commit.overwritten.p50", "commit.overwritten.p99",
		"commit.overwritten.aa", "commit.memory.p50", "commit.memory.p99",
		"commit.memory.max", "commit.memory.rate", "commit.gain", "commit.aa"} {
		if _, ok := m[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if m["commit.p50"].Estimate.Value > m["commit.max"].Estimate.Value {
		t.Error("the median is above the maximum")
	}
	// A faster device ends no sooner: its rounds are spread over the time.
	if s := m["commit.p50"].Labels.Seconds; s < 1.5 || s > 3 {
		t.Errorf("the rounds took %g s of 3", s)
	}
	if a, b := m["commit.p50"].Labels.Layout, m["commit.overwritten.p50"].Labels.Layout; a == b || b != "overwritten" {
		t.Errorf("layouts %q and %q", a, b)
	}
	if max := m["commit.max"]; max.Estimate.HasInterval() || len(max.Warnings) != 1 ||
		!strings.Contains(max.Warnings[0], "no interval") {
		t.Errorf("maximum %+v %q", max.Estimate, max.Warnings)
	}
	if len(out.Distributions) == 0 {
		t.Fatal("no distribution")
	}
	counted := 0
	for _, c := range out.Distributions[0].Count {
		counted += c
	}
	if got := m["commit.p50"].Labels.Commits; got != counted || counted == 0 || counted > commitMost {
		t.Errorf("label says %d commits, the distribution holds %d", got, counted)
	}
	if left := append(leftovers(t, dir), leftovers(t, "/dev/shm")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCommitWithoutMemory(t *testing.T) {
	cfg := ioConfig(t.TempDir(), time.Second)
	cfg.MemDir = ""
	out, err := one("commit").Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	m := byName(t, out)
	for _, name := range []string{"commit.gain", "commit.memory.p50", "commit.memory.max"} {
		if x := m[name]; x.Known() || !strings.Contains(x.Reason, "tmpfs") {
			t.Errorf("%s without a tmpfs: %+v", name, x)
		}
	}
	if !m["commit.p50"].Known() || len(out.Distributions) != 2 {
		t.Errorf("the log directory was not measured: %+v", m["commit.p50"])
	}
}

func TestCommitSkips(t *testing.T) {
	dir := t.TempDir()
	for want, cfg := range map[string]Config{
		"because":        {NoLog: "because", Budget: time.Second, Alpha: 0.05},
		"does not exist": ioConfig(filepath.Join(dir, "none"), time.Second),
	} {
		out, err := one("commit").Run(context.Background(), cfg)
		if err != nil || !strings.Contains(out.Skipped, want) || len(out.Measurements) != 0 {
			t.Errorf("want a skip that says %q: %q, %v", want, out.Skipped, err)
		}
	}
	if left := leftovers(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCommitIsCancelled(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 15 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(rng.Int64N(int64(60*time.Millisecond))), cancel)
		_, err := one("commit").Run(ctx, ioConfig(dir, time.Minute))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		if left := append(leftovers(t, dir), leftovers(t, "/dev/shm")...); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	}
}

func TestBlockSize(t *testing.T) {
	for _, c := range []struct {
		budget, each time.Duration
		want         int
	}{
		{12 * time.Second, 80 * time.Microsecond, 25},
		{12 * time.Second, 10 * time.Millisecond, 20},
		{4 * time.Second, 5 * time.Millisecond, 11},
		{4 * time.Second, time.Second, 5},
		{4 * time.Second, 0, 25},
	} {
		testkit.Is(t, c.want, blockSize(c.budget, c.each), c.budget, "at", c.each, "a commit: blocks of")
	}
}

// The pauses spread what is left of the rounds over what is left of the time.
func TestCommitPauses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	left := 10 * time.Second
	for n := 1; n < 50; n++ {
		left -= 20 * time.Millisecond
		p := spread(rng, 50-n, 20*time.Millisecond, left)
		if p < 0 || p > left {
			t.Fatalf("%v after %d rounds with %v left", p, n, left)
		}
		left -= p
	}
	if left < 0 || left > time.Second {
		t.Errorf("%v of 10 s are left", left)
	}
	if p := spread(rng, 47, time.Second, time.Second); p < 0 || p > commitPause {
		t.Errorf("a slow device is left alone for %v", p)
	}
}

func TestP99TakesThousandCommits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	round := func() []float64 {
		r := make([]float64, 100)
		for i := range r {
			r[i] = rng.Float64() + 0.1
		}
		return r
	}
	rounds := make([][]float64, 0, 40)
	for range 40 {
		rounds = append(rounds, round())
	}
	if m := device(rounds[:9], NewBlocks, "there", result.Labels{}, math.NaN(), 0.05)[1]; m.Known() ||
		!strings.Contains(m.Reason, "900 commits") {
		t.Errorf("of 900 commits: %+v", m)
	}
	if m := device(rounds, NewBlocks, "there", result.Labels{}, math.NaN(), 0.05)[1]; !m.Known() ||
		!m.Estimate.HasInterval() || len(m.Warnings) > 0 {
		t.Errorf("of 4000 commits: %+v", m.Estimate)
	}
}

// Eight rounds say too little of the tail, however many commits they hold.
func TestP99TakesManyRounds(t *testing.T) {
	rounds := make([][]float64, 8)
	for i := range rounds {
		for j := range 1000 {
			rounds[i] = append(rounds[i], 1+float64((j*7919+i)%1000)/1000)
		}
	}
	m := device(rounds, NewBlocks, "there", result.Labels{}, math.NaN(), 0.05)[1]
	if !m.Known() || m.Estimate.HasInterval() || len(m.Warnings) != 1 {
		t.Errorf("%+v %q", m.Estimate, m.Warnings)
	}
}

func TestHistogramHoldsAll(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1e-7, 100), 1, 200).Draw(t, "x")
		d := workload.Histogram("n", "t", workload.Edges(x, 10), x)
		if len(d.Edge) != len(d.Count) || !slices.IsSorted(d.Edge) {
			t.Fatalf("%d edges, %d counts", len(d.Edge), len(d.Count))
		}
		want := make([]int, len(d.Edge))
		for _, v := range x {
			for i, e := range d.Edge {
				if v <= e && (i == 0 || v > d.Edge[i-1]) {
					want[i]++
				}
			}
		}
		if diff := cmp.Diff(want, d.Count); diff != "" {
			t.Fatal(diff)
		}
	})
}
