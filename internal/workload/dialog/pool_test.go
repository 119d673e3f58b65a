package dialog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
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

// What a thread waits for its CPU is idle time of the record and no work.
func TestRecorderLeavesWaitingOut(t *testing.T) {
	const ms = time.Millisecond
	type stretch struct{ from, to, cpu time.Duration }
	for _, c := range []struct {
		name    string
		work    []stretch
		end     time.Duration
		want    []burstlog.Burst
		stalled time.Duration
	}{
		{"alone", []stretch{{10 * ms, 15 * ms, 5 * ms}, {30 * ms, 34 * ms, 4 * ms}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.015}, {CPU: 3, At: 0.030, Busy: 0.004, Idle: 0.006}}, 0},
		{"beside others", []stretch{{10 * ms, 25 * ms, 5 * ms}, {30 * ms, 38 * ms, 4 * ms}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.015}, {CPU: 3, At: 0.030, Busy: 0.004, Idle: 0.006}},
			14 * ms},
		{"a gap too short to tell", []stretch{{10 * ms, 25 * ms, 5 * ms}, {25*ms + shortest/2, 30*ms + shortest/2, 5 * ms}},
			40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.01001, Idle: 0.01999}}, 10 * ms},
		{"clocks not read at one moment", []stretch{{10 * ms, 15 * ms, 5*ms + 1}, {20 * ms, 20 * ms, 0}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.005}, {CPU: 3, At: 0.020, Busy: 1e-9, Idle: 0.019999999}},
			0},
		{"no work", nil, 40 * ms, []burstlog.Burst{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cpu := time.Hour // of the thread before the run
			used := func() time.Duration { return cpu }
			r, off := recorder{cpu: 3, on: true}, recorder{}
			for _, s := range c.work {
				r.busy(s.from, used)
				r.busy(s.from+1, used) // a slice right after another
				off.busy(s.from, nil)
				cpu += s.cpu
				r.idle(s.to, used)
				off.idle(s.to, nil)
			}
			if diff := cmp.Diff(c.want, r.finish(c.end)); diff != "" || r.stalled != c.stalled {
				t.Errorf("%s waited, want %s; bursts (-want +got):\n%s", r.stalled, c.stalled, diff)
			}
			if got := off.finish(c.end); len(got) > 0 {
				t.Errorf("recorded without being asked to: %v", got)
			}
		})
	}
}

func TestRecordSaysHowMuchWasWaiting(t *testing.T) {
	for _, c := range []struct {
		r        reply
		source   string
		warnings string
	}{
		{reply{HasCPU: true, Stalled: 0.05, Watched: 1},
			"clock; others kept threads from their CPU in 5 % of the record, which counts as idle", ""},
		{reply{HasCPU: true, Stalled: 0.51, Watched: 5},
			"clock; others kept threads from their CPU in 10 % of the record, which counts as idle",
			"in more than 5 % of the record a thread had work while others had its CPU"},
		{reply{HasCPU: false, Watched: 5}, "clock; bursts hold an unknown time that threads waited for a CPU", ""},
	} {
		source, warnings := described(plan{}, c.r)
		if all := strings.Join(warnings, "\n"); !strings.HasSuffix(source, c.source) || (all == "") != (c.warnings == "") ||
			!strings.HasPrefix(all, c.warnings) {
			t.Errorf("%s, %q\nwant %s, %q", source, all, c.source, c.warnings)
		}
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
