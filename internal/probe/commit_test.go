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
)

func ioConfig(logDir string, budget time.Duration) Config {
	return Config{Facts: &host.Facts{}, LogDir: logDir, MemDir: "/dev/shm", CPUs: []int{0, 1}, Budget: budget, Seed: 1, Alpha: 0.05}
}

func byName(t *testing.T, o Outcome) map[string]result.Measurement {
	t.Helper()
	m := map[string]result.Measurement{}
	for _, x := range o.Measurements {
		if _, twice := m[x.Name]; twice {
			t.Errorf("%s is there twice", x.Name)
		}
		if x.Title == "" || x.Unit == "" || x.Probe != o.Probe || x.Known() != (x.Evidence == result.Measured) || !x.Known() && x.Reason == "" {
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
	found, err := filepath.Glob(filepath.Join(dir, ".hostlab-commit-"+strconv.Itoa(os.Getpid())+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
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
	began := time.Now()
	out, err := NewCommit().Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	if took := time.Since(began); took > cfg.Budget+2*time.Second {
		t.Errorf("took %v of %v", took, cfg.Budget)
	}
	if reports == 0 || out.Seconds <= 0 || out.Method == "" {
		t.Errorf("%d reports, %v s, method %q", reports, out.Seconds, out.Method)
	}
	m := byName(t, out)
	for _, name := range []string{"commit.p50", "commit.p99", "commit.max", "commit.rate", "commit.memory.p50", "commit.memory.p99",
		"commit.memory.max", "commit.memory.rate", "commit.gain", "commit.aa"} {
		if _, ok := m[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if m["commit.p50"].Estimate.Value > m["commit.max"].Estimate.Value {
		t.Error("the median is above the maximum")
	}
	if len(out.Distributions) == 0 {
		t.Fatal("no distribution")
	}
	counted := 0
	for _, c := range out.Distributions[0].Count {
		counted += c
	}
	if got := m["commit.p50"].Labels["commits"]; got != strconv.Itoa(counted) || counted == 0 || counted > commitMost {
		t.Errorf("label says %s commits, the distribution holds %d", got, counted)
	}
	if left := append(leftovers(t, dir), leftovers(t, "/dev/shm")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCommitWithoutMemory(t *testing.T) {
	cfg := ioConfig(t.TempDir(), time.Second)
	cfg.MemDir = ""
	out, err := NewCommit().Run(context.Background(), cfg)
	if err != nil || out.Skipped != "" {
		t.Fatal(err, out.Skipped)
	}
	m := byName(t, out)
	for _, name := range []string{"commit.gain", "commit.memory.p50", "commit.memory.max"} {
		if x := m[name]; x.Known() || !strings.Contains(x.Reason, "tmpfs") {
			t.Errorf("%s without a tmpfs: %+v", name, x)
		}
	}
	if !m["commit.p50"].Known() || len(out.Distributions) != 1 {
		t.Errorf("the log directory was not measured: %+v", m["commit.p50"])
	}
}

func TestCommitSkips(t *testing.T) {
	dir := t.TempDir()
	full := ioConfig(dir, time.Second)
	full.Facts.Storage = []host.Storage{{Path: "/elsewhere"}, {Path: dir, FreeBytes: host.Known(int64(1<<20), "B", "statfs")}}
	nfs := ioConfig(dir, time.Second)
	nfs.Facts.Storage = []host.Storage{{Path: dir, FSType: host.Known("nfs4", "", "mountinfo")}}
	for want, cfg := range map[string]Config{
		"because":        {NoLog: "because", Budget: time.Second, Alpha: 0.05},
		"does not exist": ioConfig(filepath.Join(dir, "none"), time.Second),
		"80 MiB needed":  full,
		"NFS":            nfs,
	} {
		out, err := NewCommit().Run(context.Background(), cfg)
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
		var at time.Time
		time.AfterFunc(time.Duration(rng.Int64N(int64(60*time.Millisecond))), func() { at = time.Now(); cancel() })
		_, err := NewCommit().Run(ctx, ioConfig(dir, time.Minute))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		if late := time.Since(at); late > time.Second {
			t.Errorf("returned %v after it was cancelled", late)
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
		{12 * time.Second, 80 * time.Microsecond, 50},
		{12 * time.Second, 10 * time.Millisecond, 45},
		{4 * time.Second, 10 * time.Millisecond, 11},
		{4 * time.Second, time.Second, 5},
		{4 * time.Second, 0, 50},
	} {
		if got := blockSize(c.budget, c.each); got != c.want {
			t.Errorf("%v at %v a commit: blocks of %d, want %d", c.budget, c.each, got, c.want)
		}
	}
}

func TestEvenOut(t *testing.T) {
	r := commitRuns{a: make([][]float64, 3), b: make([][]float64, 2), mem: make([][]float64, 3)}
	r.evenOut(true)
	if diff := cmp.Diff([]int{2, 2, 2}, []int{len(r.a), len(r.b), len(r.mem)}); diff != "" {
		t.Error(diff)
	}
}

// TestClusterQuantileCovers draws commits whose rounds differ, as they do on a
// shared device, and counts how often the interval holds the true median. One that
// takes commits for independent covers it in about a third of the cases.
func TestClusterQuantileCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const trials = 300
	covered, naive := 0, 0
	for range trials {
		rounds := make([][]float64, 50)
		for i := range rounds {
			shift := rng.NormFloat64() * 0.1
			for range 100 {
				rounds[i] = append(rounds[i], math.Exp(shift+0.1*rng.NormFloat64()))
			}
		}
		all := slices.Sorted(slices.Values(slices.Concat(rounds...)))
		if clusterQuantile(rounds, all, 0.5, 0.05).Contains(1) {
			covered++
		}
		if clusterQuantile([][]float64{all}, all, 0.5, 0.05).N != len(all) {
			t.Fatal("one round cannot show that rounds differ")
		}
		half := 1.96 * math.Sqrt(0.25/float64(len(all)))
		lo, hi := all[int((0.5-half)*float64(len(all)))], all[int((0.5+half)*float64(len(all)))]
		if lo <= 1 && 1 <= hi {
			naive++
		}
	}
	if share := float64(covered) / trials; share < 0.90 || share > 0.99 {
		t.Errorf("interval holds the median in %.0f %% of trials", 100*share)
	}
	if share := float64(naive) / trials; share > 0.6 {
		t.Errorf("the naive interval holds it in %.0f %%: these rounds do not differ enough to test anything", 100*share)
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
	rounds := make([][]float64, 0, 20)
	for range 20 {
		rounds = append(rounds, round())
	}
	if m := device(rounds[:9], "x", "there", map[string]string{}, math.NaN(), 0.05)[1]; m.Known() || !strings.Contains(m.Reason, "900 commits") {
		t.Errorf("of 900 commits: %+v", m)
	}
	if m := device(rounds, "x", "there", map[string]string{}, math.NaN(), 0.05)[1]; !m.Known() || !m.Estimate.HasInterval() {
		t.Errorf("of 2000 commits: %+v", m.Estimate)
	}
}

func TestHistogramHoldsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1e-7, 100), 1, 200).Draw(t, "x")
		d := histogram("n", "t", logEdges(x, 10), [][]float64{x})
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
