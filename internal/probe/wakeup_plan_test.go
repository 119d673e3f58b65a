package probe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

func TestPlanWakeup(t *testing.T) {
	for _, c := range []struct {
		budget  time.Duration
		cpus    int
		slices  int
		kernels int
		rounds  int // at least
	}{
		{24 * time.Second, 1, 3, 2, 10}, // a share of the usual minute
		{8 * time.Second, 1, 2, 2, 6},   // and of --quick
		{24 * time.Second, 2, 3, 2, 6},
		{6 * time.Second, 1, 1, 2, 6},
		{3500 * time.Millisecond, 1, 1, 1, 6},
		{time.Millisecond, 1, 1, 1, 1},
		{time.Hour, 1, 3, 2, 30},
	} {
		p := planWakeup(c.budget, c.cpus, 2, 0.05)
		n := len(p.slices(kernelALU))
		if n != c.slices || len(p.Kernels) != c.kernels || p.Rounds < c.rounds || p.Rounds > maxWakeRounds {
			t.Errorf("%v for %d CPUs: %d slices, %d kernels, %d rounds", c.budget, c.cpus, n, len(p.Kernels), p.Rounds)
		}
		testkit.Is(t, (n == 3), (p.Dropped == ""), c.budget, "dropped", p.Dropped)
		if c.budget > 5*time.Second && p.Seconds > c.budget.Seconds() {
			t.Errorf("%v planned as %.1f s", c.budget, p.Seconds)
		}
	}
}

func TestWakeTargets(t *testing.T) {
	cpu := func(id, socket int) host.CPU { return host.CPU{ID: id, Socket: host.Known(socket, "", "")} }
	topo := &host.Topology{
		CPUs:      []host.CPU{cpu(0, 0), cpu(1, 0), cpu(2, 1), cpu(3, 1), cpu(4, 0)},
		CoreTypes: []host.CoreType{{Name: "P", CPUs: []int{0, 1, 2, 3}}, {Name: "E", CPUs: []int{4}}},
		Caches:    []host.Cache{{Level: 2, Size: host.Known(int64(2<<20), "B", ""), CPUs: []int{1, 2}}},
	}
	got, left := wakeTargets(topo, []int{1, 2, 3, 4})
	want := []wakeTarget{{1, "P", 0, 3 << 19}, {2, "P", 1, 3 << 19}, {4, "E", 0, 3 << 18}}
	if d := cmp.Diff(want, got); d != "" || left != 0 {
		t.Error(d, left)
	}
	if got, _ := wakeTargets(nil, []int{5}); len(got) != 1 || got[0].Class != "all" || got[0].Socket != -1 {
		t.Errorf("without facts: %+v", got)
	}
	for i := range 20 {
		topo.CoreTypes = append(topo.CoreTypes, host.CoreType{Name: "X", CPUs: []int{i}})
	}
	if got, left := wakeTargets(topo, []int{0, 1, 2, 3, 4}); len(got) != maxWakeTargets || left == 0 {
		t.Errorf("%d targets, %d left", len(got), left)
	}
}

// Every slice must run once under each condition in each round, in an order that
// changes, and the second condition only after the CPU has been busy.
func TestWakeRound(t *testing.T) {
	plan := planWakeup(24*time.Second, 1, 2, 0.05)
	targets := []wakeTarget{{CPU: 0}, {CPU: 3}}
	rnd := rand.New(rand.NewPCG(1, 2))
	orders := map[string]bool{}
	for range 20 {
		cells := wakeRound(plan, targets, func(int, string) float64 { return 1e9 }, rnd)
		count, order := map[wakeKey][wakeConds]int{}, ""
		for _, c := range cells {
			order += c.Kernel + fmt.Sprint(c.Roles[len(c.Roles)-1].Slice)
			stretch := map[wakeCond]bool{}
			for i, role := range c.Roles {
				if role.Slice == 0 {
					continue
				}
				stretch[role.Cond] = true
				key := wakeKey{c.Target.CPU, c.Kernel, role.Slice}
				n := count[key]
				n[role.Cond]++
				count[key] = n
				prev := c.Steps[i-1]
				if (role.Cond == afterSleep) != (prev.Sleep == asleep) {
					t.Fatalf("condition %d follows %+v", role.Cond, prev)
				}
				if role.Cond != afterSleep && c.Steps[0].Spin+c.Steps[1].Spin < spinning {
					t.Fatalf("a busy stretch begins with %+v", c.Steps[0])
				}
				if c.Steps[i].N != uint64(role.Slice*1e9) {
					t.Fatalf("slice of %g s has %d operations", role.Slice, c.Steps[i].N)
				}
			}
			if len(stretch) != 1 {
				t.Fatalf("conditions %v share a thread: their difference is none", stretch)
			}
		}
		if len(count) != 10 {
			t.Fatalf("%d comparisons, want 10", len(count))
		}
		for key, n := range count {
			if n != [wakeConds]int{1, 1, 1} {
				t.Errorf("%+v ran %v times", key, n)
			}
		}
		orders[order] = true
	}
	if len(orders) < 15 {
		t.Errorf("%d orders in 20 rounds", len(orders))
	}
}

func TestForeignShare(t *testing.T) {
	before := proc.Load{Busy: 100, Steal: 5}
	for _, c := range []struct {
		after proc.Load
		own   float64
		want  float64
	}{
		{proc.Load{Busy: 101, Steal: 5}, 1, 0},
		{proc.Load{Busy: 101, Steal: 5}, 0.79, 0.1},
		{proc.Load{Busy: 101, Steal: 5.21}, 1, 0.1},
		{proc.Load{}, 1, 0},
	} {
		if got := proc.Share(map[int]proc.Load{3: before}, map[int]proc.Load{3: c.after}, c.own,
			2); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v, own %g: %g, want %g", c.after, c.own, got, c.want)
		}
	}
}
