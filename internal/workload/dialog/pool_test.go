package dialog

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// play runs a plan on a pool in virtual time, on CPUs that never slow down, and
// returns which CPU ran each slice. It does what the threads do.
func play(t *testing.T, p plan) (*pool, []int) {
	t.Helper()
	x := testkit.Must(newPool(p))(t)
	defer x.close()
	var now time.Duration
	var ran []int
	ends := map[*unit]time.Duration{}
	for range 1_000_000 {
		x.fire(now)
		for i, u := range x.units {
			if _, runs := ends[u]; u.next != nil && !runs {
				s := u.next
				w := x.work(s)
				s.waited += now - s.ready
				s.cpu += ns(w)
				s.demand += w
				ends[u] = now + ns(w)
				ran = append(ran, i)
			}
		}
		next, who := time.Duration(-1), (*unit)(nil)
		for u, at := range ends {
			if next < 0 || at < next {
				next, who = at, u
			}
		}
		if len(x.due) > 0 && (next < 0 || x.due[0].at <= next) {
			now = x.due[0].at
			continue
		}
		if who == nil {
			return x, ran
		}
		now = next
		delete(ends, who)
		x.ended(who, who.next, now)
	}
	t.Fatal("it never ends")
	return nil, nil
}

// The pool's queue and placement are the model's.
func TestPoolIsTheModels(t *testing.T) {
	for _, p := range []plan{
		{CPUs: make([]int, 2), Load: 0.8, Slices: 3, Slice: length{0.06, true}, Wait: length{0.04, true}, WarmUp: 50,
			Duration: 6000, Floor: 0.5, Seed: 4},
		{CPUs: make([]int, 4), Users: 6, Slices: 2, Slice: length{0.05, true}, Wait: length{0.02, false},
			Think: length{0.1, true}, WarmUp: 50, Duration: 2000, Floor: 0.5, Seed: 5, Packed: true},
	} {
		x, ran := play(t, p)
		got := testkit.Must(sample(x.result))(t)
		c := testkit.Must(p.Case())(t)
		want := testkit.Must(model.Simulate(t.Context(), c, model.Options{Seed: 1}))(t)
		if w := want.Responses[model.StepTime].Value; got.Values["step_mean"]/w < 0.95 || got.Values["step_mean"]/w > 1.05 {
			t.Errorf("%+v: steps take %.4g s, in the model %.4g s", p, got.Values["step_mean"], w)
		}
		count := make([]int, len(p.CPUs))
		for _, i := range ran {
			count[i]++
		}
		if first, last := count[0], count[len(count)-1]; p.Packed && first*10 < last*13 || !p.Packed &&
			(first*10 < last*9 || last*10 < first*9) {
			t.Errorf("packed %v: slices by CPU %v", p.Packed, count)
		}
	}
}

// Steps are the same whatever the clock does, and counted after the warm-up.
func TestDemandIsThatOfTheSeed(t *testing.T) {
	p := plan{CPUs: make([]int, 2), Load: 0.4, Slices: 3, Slice: length{0.06, true}, Wait: length{0.04, true}, WarmUp: 1,
		Duration: 100, Floor: 0.5, Seed: 9}
	a, _ := play(t, p)
	p.CPUs = p.CPUs[:1]
	p.Load *= 2 // the same arrivals on half of the CPUs
	b, _ := play(t, p)
	if x, y := stats.Mean(a.result.Demand), stats.Mean(b.result.Demand); len(a.result.Demand) != len(b.result.Demand) ||
		x/y < 0.999999 || x/y > 1.000001 {
		t.Errorf("%d steps of %g s, then %d of %g s", len(a.result.Demand), x, len(b.result.Demand), y)
	}
}

// fake is a CPU of its own time, in ns: an operation takes one.
type fake struct {
	wall, cpu float64
	company   float64 // share of the CPU that others take
}

func (f *fake) core(clock *model.Clock) *core {
	return &core{clock: clock, chunk: 500_000, now: func() time.Duration { return time.Duration(f.wall) },
		used: func() time.Duration { return time.Duration(f.cpu) },
		adds: func(n uint64) uint64 {
			f.cpu += float64(n)
			f.wall += float64(n) / (1 - f.company)
			return n
		}}
}

// slices runs slices with idle times between and returns their mean time on
// the CPU once the clock has settled.
func (f *fake) slices(c *core, slice, idle, settling time.Duration) float64 {
	skip := int(settling/(slice+idle)) + 1
	n := skip + 8
	sum := 0.0
	var task model.Task
	for k := range n {
		took := c.work(&task, uint64(slice))
		c.idle()
		if k >= skip {
			sum += took.Seconds()
		}
		f.wall += float64(idle)
	}
	return sum / float64(n-skip)
}

// What spins make of slices is what the model says of the policy, whoever else wants
// the CPU.
func TestSlowClock(t *testing.T) {
	// The frequency of the first three never changes: they need no time to come up, and
	// there is no check that a slice could begin before or after.
	still := []string{"high-performance", "fixed:70", "power-saver"}
	for _, name := range testkit.Sample(append(still, "balanced-rs1", "balanced-rs1,PERFCHECK=50ms", "balanced-rs2",
		"ondemand", "schedutil"), 4) {
		phases, settling := 6, 1200*time.Millisecond // Balanced rises in single states
		if slices.Contains(still, name) {
			phases, settling = 1, 0
		}
		policy := testkit.Must(model.ParsePolicy(name))(t)
		m := model.Stepped(1, 0.5)
		for _, w := range []struct{ slice, idle time.Duration }{{100 * time.Millisecond, 300 * time.Millisecond},
			{20 * time.Millisecond, 30 * time.Millisecond}, {50 * time.Millisecond, 5 * time.Millisecond}} {
			want := testkit.Must(model.Simulate(t.Context(), model.Case{Machine: m, Policy: policy,
				Workload: model.Workload{Name: "x", Kind: model.Dialog, Users: 1, Slices: 1,
					Placement: model.Spread, Slice: model.Dist{Mean: w.slice.Seconds()}, Think: model.Dist{Mean: w.idle.Seconds()}}},
				model.Options{Seed: 1, Steps: 100}))(t)
			for _, company := range []float64{0, 0.6} {
				t.Run(fmt.Sprint(name, " ", w.slice, " ", w.idle, " beside ", company), func(t *testing.T) {
					t.Parallel() // its time is its own
					got := 0.0
					for k := range phases {
						clock := testkit.Must(model.NewClock(policy, m, (float64(k)+0.5)/float64(phases)))(t)
						f := &fake{company: company}
						got += f.slices(f.core(clock), w.slice, w.idle, settling) / float64(phases)
					}
					if e := want.Responses[model.CPUSeconds]; math.Abs(got/e.Value-1) > 0.02 {
						t.Errorf("a slice takes %.5g s of CPU, the model says %.5g s", got, e.Value)
					}
				})
			}
		}
	}
}

func TestOwnClockIsLeftAlone(t *testing.T) {
	f := &fake{}
	if got := f.slices(f.core(nil), 10*time.Millisecond, time.Millisecond, 0); math.Abs(got-0.010) > 1e-9 {
		t.Errorf("10 ms of work took %g s", got)
	}
}
