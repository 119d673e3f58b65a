package probe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
	"hostlab/internal/thread"
	"hostlab/internal/workload/scanlock"
)

// fakeCores is a host on which CPUs k and k+half share a core if smt is true, and
// a pair may take turns on one CPU. Time passes on its own clock.
type fakeCores struct {
	at     time.Time
	smt    bool
	half   int
	turns  pair // A == B: none
	gone   int  // -1: none
	noise  float64
	slow   float64 // of a sibling's chunks
	rnd    *rand.Rand
	calls  int
	asked  map[pair]int
	closed bool
	hog    int           // a CPU that somebody else has, -1: none
	until  time.Duration // as long as that
	share  float64       // of that CPU
}

func newFakeCores(smt bool, half int) *fakeCores {
	return &fakeCores{at: time.Unix(1e9, 0), smt: smt, half: half, gone: -1, hog: -1, noise: 0.01, slow: 1.8,
		rnd: rand.New(rand.NewPCG(3, 4)), asked: map[pair]int{}}
}

func (f *fakeCores) jitter() float64 { return 1 + f.noise*f.rnd.NormFloat64() }

func (f *fakeCores) run(req pairRequest) (pairReply, error) {
	f.calls++
	if slices.Contains(req.CPUs, f.gone) {
		return pairReply{}, fmt.Errorf("CPU 1: %w", thread.ErrNoCPU)
	}
	two := len(req.CPUs) == 2
	var p pair
	if two {
		p = pairOf(req.CPUs[0], req.CPUs[1])
		f.asked[p]++
	}
	share := two && f.smt && p.B-p.A == f.half
	wall := 1.0
	if two && p == f.turns {
		wall = 2.4
	}
	var reply pairReply
	switch req.Kind {
	case cellPingPong:
		reply.PingPong = 60e-9 * f.jitter()
		if share {
			reply.PingPong = 12e-9 * f.jitter()
		}
		return reply, nil
	case cellLock:
		for range req.CPUs {
			rate := 4e8 * f.jitter()
			if share {
				rate *= 0.6
			}
			count := scanlock.Count{CPUTime: time.Duration(req.Seconds * 1e9), HasCPU: true}
			if len(reply.Locks) == 0 {
				count.Acquisitions = uint64(rate * req.Seconds)
			} else {
				count.Rounds = uint64(1e4 * req.Seconds)
			}
			reply.Locks, reply.Seconds = append(reply.Locks, count), req.Seconds
		}
		f.at = f.at.Add(time.Duration((req.Seconds + lockOverhead) * 1e9))
		return reply, nil
	}
	for range req.CPUs {
		t := chunkSeconds * f.jitter()
		if share && req.Kind != cellControl {
			t *= f.slow
		}
		total := wall * t * float64(req.Chunks)
		reply.Sides = append(reply.Sides, side{Median: t, Wall: total, HasWaited: true})
	}
	f.at = f.at.Add(time.Duration(chunkSeconds * float64(req.Chunks) * wall * 1e9))
	return reply, nil
}

// load adds to each CPU's own use, of which the fake has none, what the hog takes.
func (f *fakeCores) load(cpus []int) (map[int]proc.Load, bool) {
	out := map[int]proc.Load{}
	for i, c := range cpus {
		var l proc.Load
		if i == 0 {
			l.Busy = proc.Own()
		}
		if c == f.hog {
			l.Busy += f.share * min(f.at.Sub(time.Unix(1e9, 0)), f.until).Seconds()
		}
		out[c] = l
	}
	return out, true
}

func (f *fakeCores) close() { f.closed = true }
func (f *fakeCores) probe() *siblings {
	return &siblings{start: func(context.Context) (runner[pairRequest, pairReply], error) { return f, nil },
		now: func() time.Time { return f.at }}
}

func withSiblings(cfg Config, half int) Config {
	for _, c := range cfg.CPUs {
		list := []int{c % half, c%half + half}
		cfg.Facts.Topology.CPUs = append(cfg.Facts.Topology.CPUs, host.CPU{ID: c, Siblings: host.Known(list, "", "")})
	}
	return cfg
}

func TestSiblingsFindsCores(t *testing.T) {
	f := newFakeCores(true, 2)
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1, 2, 3)))(t)
	if len(o.Pairs) != 6 || !f.closed {
		t.Fatalf("%d pairs, closed %v", len(o.Pairs), f.closed)
	}
	for _, p := range o.Pairs {
		want := Separate
		if p.B-p.A == 2 {
			want = Siblings
		}
		if p.Relation != want || p.Reported || p.Reason == "" {
			t.Errorf("%+v, want %s", p, want)
		}
	}
	if len(o.Warnings) != 2 || !strings.Contains(o.Warnings[0], "hypervisor hides it") {
		t.Errorf("warnings %q", o.Warnings)
	}
	if m := named(t, o, "siblings.slowdown.cpu0-cpu2"); !m.Estimate.Contains(1.8) || m.Estimate.N < 6 ||
		!(m.NoiseFloor < 0.1) {
		t.Errorf("slow-down %+v, floor %g", *m.Estimate, m.NoiseFloor)
	}
	if m := named(t, o, "siblings.pingpong.cpu0-cpu1"); !m.Estimate.Contains(60e-9) || m.Unit != "s" {
		t.Errorf("ping-pong %+v", *m.Estimate)
	}
	m := named(t, o, "siblings.harm.sibling")
	if !m.Estimate.Contains(0.6) || m.Labels.RelationBy != "measured" || *m.Labels.CPUScan != 2 {
		t.Errorf("harm %+v %v", *m.Estimate, m.Labels)
	}
	if m := named(t, o, "siblings.harm.other"); !m.Estimate.Contains(1) || !(m.NoiseFloor < 0.05) {
		t.Errorf("harm elsewhere %+v, floor %g", *m.Estimate, m.NoiseFloor)
	}
}

func TestSiblingsAgainstReport(t *testing.T) {
	f := newFakeCores(false, 2)
	f.turns = pair{0, 1}
	o := testkit.Must(f.probe().Run(t.Context(), withSiblings(cpuConfig(12*time.Second, 0, 1, 2, 3), 2)))(t)
	all := strings.Join(o.Warnings, "\n")
	for _, want := range []string{"CPUs 0 and 2 are reported as siblings", "CPUs 1 and 3 are reported",
		"CPUs 0 and 1 take turns"} {
		testkit.Has(t, all, want)
	}
	if m := named(t, o, "siblings.harm.sibling"); m.Known() || !strings.Contains(m.Reason, "no two CPUs share a core") {
		t.Errorf("%+v", m)
	}
	// The one that takes turns with the lock's CPU may not play the other core.
	if m := named(t, o, "siblings.harm.other"); *m.Labels.CPUScan == 1 || !m.Known() {
		t.Errorf("%+v", m)
	}
}

// A hog on a thread of a core slows the other thread alone as much as beside us, so
// that they look separate. Nothing is said while it is there.
func TestSiblingsBesideAHog(t *testing.T) {
	f := newFakeCores(false, 2)
	f.hog, f.share, f.until = 0, 0.9, time.Hour
	o := testkit.Must(f.probe().Run(t.Context(), withSiblings(cpuConfig(12*time.Second, 0, 1, 2, 3), 2)))(t)
	for _, p := range o.Pairs {
		if beside := p.A == 0; beside != (p.Relation == UnknownPair) ||
			beside != strings.Contains(p.Reason, "other work took") {
			t.Errorf("%+v", p)
		}
	}
	if all := strings.Join(o.Warnings, "\n"); strings.Contains(all, "CPUs 0 and 2") ||
		!strings.Contains(all, "CPUs 1 and 3") {
		t.Errorf("warnings %q", all)
	}
	if m := named(t, o, "siblings.slowdown.cpu0-cpu2"); !strings.Contains(m.Labels.Disturbed, "of 4 attempts") {
		t.Errorf("labels %v", m.Labels)
	}
	if m := named(t, o, "siblings.slowdown.cpu1-cpu3"); m.Labels.Disturbed != "" {
		t.Errorf("labels %v", m.Labels)
	}
	// One that goes away in time only costs a repetition.
	f = newFakeCores(true, 1)
	f.hog, f.share, f.until = 0, 0.9, 300*time.Millisecond
	o = testkit.Must(f.probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1)))(t)
	testkit.Is(t, Siblings, o.Pairs[0].Relation, o.Pairs[0])
}

func TestHarmRates(t *testing.T) {
	o := testkit.Must(newFakeCores(true, 2).probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1, 2, 3)))(t)
	for name, want := range map[string]float64{"siblings.acquisitions.alone": 4e8, "siblings.acquisitions.sibling": 2.4e8,
		"siblings.acquisitions.other": 4e8, "siblings.scans.sibling": 1e4, "siblings.scans.other": 1e4} {
		m := named(t, o, name)
		if !m.Known() || math.Abs(m.Estimate.Value/want-1) > 0.02 || m.Unit != "1/s" || m.Labels.Disturbed != "" {
			t.Errorf("%s: %+v %v, want %g", name, m.Estimate, m.Labels, want)
		}
	}
}

func TestSiblingsTwoCPUs(t *testing.T) {
	o := testkit.Must(newFakeCores(true, 1).probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1)))(t)
	testkit.Is(t, Siblings, o.Pairs[0].Relation, o.Pairs)
	if m := named(t, o, "siblings.harm.other"); m.Known() || m.Reason == "" {
		t.Errorf("another core on a host of one: %+v", m)
	}
	if m := named(t, o, "siblings.harm.sibling"); !m.Known() {
		t.Errorf("%+v", m)
	}
}

// The pairs alone take no lock and say nothing of harm.
func TestPairsOnly(t *testing.T) {
	f := newFakeCores(true, 2)
	p := f.probe()
	p.pairsOnly = true
	o := testkit.Must(p.Run(t.Context(), cpuConfig(6*time.Second, 0, 1, 2, 3)))(t)
	for _, r := range o.Pairs {
		testkit.Is(t, (r.Relation == Siblings), r.B-r.A == 2, r)
	}
	for _, m := range o.Measurements {
		if strings.Contains(m.Name, "harm") || strings.Contains(m.Name, "scans") {
			t.Errorf("%s was measured", m.Name)
		}
	}
	if strings.Contains(o.Method, "lock") || len(o.Pairs) != 6 || !f.closed {
		t.Errorf("%d pairs by %q, closed %v", len(o.Pairs), o.Method, f.closed)
	}
}

func TestSiblingsUndecided(t *testing.T) {
	f := newFakeCores(true, 1)
	f.slow = 1.22 // too much for separate cores, too little for siblings
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1)))(t)
	testkit.Is(t, UnknownPair, o.Pairs[0].Relation, "decided between the thresholds", o.Pairs[0])
	if n := named(t, o, "siblings.slowdown.cpu0-cpu1").Estimate.N; n <= stats.MinBlocks(0.05)+2 {
		t.Errorf("an undecided pair was not repeated: %d rounds", n)
	}
}

func TestSiblingsSkipsAndOffline(t *testing.T) {
	o, err := newFakeCores(true, 1).probe().Run(t.Context(), cpuConfig(time.Second, 3))
	if err != nil || !strings.Contains(o.Skipped, "takes two") {
		t.Errorf("one CPU: %q, %v", o.Skipped, err)
	}
	f := newFakeCores(false, 2)
	f.gone = 1
	o = testkit.Must(f.probe().Run(t.Context(), cpuConfig(12*time.Second, 0, 1, 2)))(t)
	for _, p := range o.Pairs {
		off := p.A == 1 || p.B == 1
		if off != (p.Relation == UnknownPair) || off && !strings.Contains(p.Reason, "offline") {
			t.Errorf("%+v", p)
		}
	}
	if m := named(t, o, "siblings.pingpong.cpu0-cpu1"); m.Known() || !strings.Contains(m.Reason, "offline") {
		t.Errorf("%+v", m)
	}
	if m := named(t, o, "siblings.harm.other"); !m.Known() || *m.Labels.CPUScan != 2 {
		t.Errorf("%+v", m)
	}
}

func TestChoosePairs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	list := func(n int) (cpus []int) {
		for i := range n {
			cpus = append(cpus, i)
		}
		return cpus
	}
	for _, c := range []struct{ cpus, most, want, of int }{{2, 50, 1, 1}, {8, 50, 28, 28}, {8, 5, 5, 28},
		{512, 60, 60, 130816}, {16, 500, 120, 120}} {
		reported := map[pair]bool{}
		for i := range c.cpus / 2 {
			reported[pair{i, i + c.cpus/2}] = true
		}
		got, of := choosePairs(list(c.cpus), reported, c.most, rnd)
		if of != c.of || len(got) > c.most || (c.cpus <= allPairsUpTo || c.most < c.of) && len(got) != c.want {
			t.Errorf("%d CPUs, at most %d: %d of %d, want %d of %d", c.cpus, c.most, len(got), of, c.want, c.of)
		}
		seen, known, next := map[pair]bool{}, 0, 0
		for _, p := range got {
			if p.A >= p.B || seen[p] {
				t.Errorf("pair %v twice or backwards", p)
			}
			seen[p] = true
			if reported[p] {
				known++
			}
			if p.B-p.A == 1 {
				next++
			}
		}
		if c.cpus == 512 && (known < 25 || next < 5 || known+next > 50) {
			t.Errorf("of 60 pairs %d are reported siblings and %d neighbours", known, next)
		}
	}
}

func TestPlanSiblings(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		cpus   int
		pairs  int // at least
		harm   int
	}{{12 * time.Second, 2, 1, 6}, {12 * time.Second, 8, 28, 6}, {12 * time.Second, 512, 10, 6},
		{3 * time.Second, 2, 1, 2}} {
		p := planSiblings(c.budget, c.cpus, 1, 0.05)
		if p.Pairs < c.pairs || p.Rounds < 6 || p.Harm < c.harm || p.Chunks < 20 {
			t.Errorf("%v, %d CPUs: %+v", c.budget, c.cpus, p)
		}
		n := min(p.Pairs, c.cpus*(c.cpus-1)/2)
		if took := float64(n*p.Rounds) * pairSeconds(p.Chunks); took > c.budget.Seconds()/2*1.05 {
			t.Errorf("%v, %d CPUs: pairs alone take %.1f s", c.budget, c.cpus, took)
		}
	}
}
