package emulate

import (
	"math"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// fakeTask is one thread that works for a slice of CPU time and then waits, as often
// as it can, on a machine whose time is the test's.
type fakeTask struct {
	slice, wait time.Duration
	speed       float64
	now         time.Duration
	cpu         time.Duration // at the host's clock
	left        time.Duration // of the slice
	until       time.Duration // of the wait
	steps       []time.Duration
	began       time.Duration
	busy        bool

	company float64       // share of the CPU that others take while it wants it
	waited  time.Duration // ready, but not on the CPU
	missed  float64       // share of what it should be kept that it is not
	lost    time.Duration // kept from its CPU
}

func (f *fakeTask) used() map[int]use    { return map[int]use{1: {f.cpu, f.waited}} }
func (f *fakeTask) set(speed, _ float64) { f.speed = speed }
func (f *fakeTask) kept() time.Duration  { return f.lost }
func (f *fakeTask) release()             { f.speed = 1 }

// run passes time in small steps.
func (f *fakeTask) run(d time.Duration) {
	const dt = 50 * time.Microsecond
	for end := f.now + d; f.now < end; f.now += dt {
		if !f.busy {
			if f.now < f.until {
				continue
			}
			f.busy, f.left, f.began = true, f.slice, f.now
		}
		// For each time on the CPU it waits for others, and is kept from it for the clock.
		waits, kept := f.company/(1-f.company), (1-f.speed)/f.speed*(1-f.missed)
		did := time.Duration(float64(dt) / (1 + waits + kept))
		f.cpu += did
		f.waited += time.Duration(waits * float64(did))
		f.lost += time.Duration(kept * float64(did))
		if f.left -= did; f.left <= 0 {
			f.busy, f.until = false, f.now+f.wait
			f.steps = append(f.steps, f.now-f.began)
		}
	}
}

// play lets a policy govern the task for a while and returns the mean step.
func play(t *testing.T, policy string, f *fakeTask) (step float64, total Totals) {
	t.Helper()
	clock := testkit.Must(newClock(policy, 0.5))(t)
	f.speed = 1
	g := &governor{target: f, clock: clock}
	for f.now < 60*time.Second {
		f.run(sample)
		g.look(f.now)
	}
	sum := 0.0
	for _, s := range f.steps[1:] {
		sum += s.Seconds()
	}
	return sum / float64(len(f.steps)-1), g.totals
}

// TestGovernor holds the governor to what a prototype on quotas showed for slices of 100
// ms with 300 ms waits: Balanced to RS1 1.82 at a check every 15 ms and 1.98 at 50 ms, RS2+
// 1.10, ondemand 1.05; and no cost where work never ends.
func TestGovernor(t *testing.T) {
	const slice, wait = 100 * time.Millisecond, 300 * time.Millisecond
	for _, c := range []struct {
		policy    string
		wait      time.Duration
		low, high float64
	}{
		{"balanced-rs1,PERFCHECK=16ms", wait, 1.7, 2.0},
		{"balanced-rs1,PERFCHECK=48ms", wait, 1.9, 2.05},
		{"balanced-rs2,PERFCHECK=16ms", wait, 1.05, 1.2},
		{"ondemand,sampling_rate=8ms", wait, 1.02, 1.13},
		{"high-performance", wait, 0.99, 1.01},
		{"balanced-rs1,PERFCHECK=16ms", 0, 0.99, 1.05},
		{"fixed:50", wait, 1.97, 2.03},
	} {
		step, total := play(t, c.policy, &fakeTask{slice: slice, wait: c.wait})
		ratio := step / slice.Seconds()
		if ratio < c.low || ratio > c.high {
			t.Errorf("%s with waits of %s: steps take %.3f times as long, want %.2f to %.2f", c.policy, c.wait, ratio, c.low, c.high)
		}
		// What a slow clock would have billed is what the steps took.
		if billed := total.Clocked / total.Used; math.Abs(billed-ratio) > 0.06*ratio {
			t.Errorf("%s with waits of %s: CPU seconds %.3f times as many, steps %.3f times as long", c.policy, c.wait, billed, ratio)
		}
	}
}

// Company that takes most of the CPU is no idle time: who always computes is not
// clocked down for it.
func TestCompany(t *testing.T) {
	_, total := play(t, "balanced-rs1,PERFCHECK=16ms", &fakeTask{slice: 100 * time.Millisecond, company: 0.65})
	if billed := total.Clocked / total.Used; billed > 1.05 {
		t.Errorf("CPU seconds %.3f times as many", billed)
	}
	_, total = play(t, "balanced-rs1,PERFCHECK=16ms",
		&fakeTask{slice: 100 * time.Millisecond, wait: 900 * time.Millisecond, company: 0.2})
	if billed := total.Clocked / total.Used; billed < 1.5 {
		t.Errorf("mostly idle: CPU seconds only %.3f times as many", billed)
	}
}

// loads keeps what it was told to keep threads to.
type loads struct {
	uses []map[int]use
	told []float64
	low  float64
}

func (l *loads) used() map[int]use {
	u := l.uses[0]
	l.uses = l.uses[1:]
	return u
}
func (l *loads) set(speed, threads float64) {
	l.low, l.told = min(l.low, speed), append(l.told, threads)
}
func (l *loads) kept() time.Duration { return 0 }
func (l *loads) release()            {}

// What threads were kept from their CPUs is what was measured, not what it should be.
func TestKept(t *testing.T) {
	for missed, want := range map[float64][2]float64{0: {0.97, 1.03}, 0.4: {0.57, 0.63}} { // Kept over Asked
		_, total := play(t, "fixed:50", &fakeTask{slice: time.Second, missed: missed})
		if got := total.Kept / total.Asked; got < want[0] || got > want[1] || total.Asked < 15 {
			t.Errorf("%g missed: kept %.2f of %.3g s", missed, got, total.Asked)
		}
		if total.Billed < 0.99*total.Kept || total.Billed > 1.01*total.Kept {
			t.Errorf("%g missed: one thread is billed %.3g s for %.3g s", missed, total.Billed, total.Kept)
		}
	}
}

// A helper is no second thread, whatever it waits for, and threads that take turns are one.
func TestAtOnce(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name      string
		uses      []use
		low, high float64
	}{
		{"nobody", nil, 1, 1},
		{"one", []use{{7000 * us, 1000 * us}}, 1, 1},
		{"two", []use{{8000 * us, 0}, {8000 * us, 0}}, 2, 2},
		{"two that others leave half of their CPUs", []use{{4000 * us, 4000 * us}, {4000 * us, 4000 * us}}, 2, 2},
		{"two that take turns", []use{{4000 * us, 0}, {4000 * us, 0}}, 1, 1},
		{"one with helpers", []use{{7200 * us, 200 * us}, {240 * us, 500 * us}, {40 * us, 2650 * us}, {120 * us, 3000 * us}}, 1, 1.1},
	} {
		var o overlap
		for _, u := range c.uses {
			o.add(u.ran, u.waited, u.ran)
		}
		if got := o.atOnce(8 * time.Millisecond); got < c.low || got > c.high {
			t.Errorf("%s: %.3g at once, want %g to %g", c.name, got, c.low, c.high)
		}
	}
}

// High performance keeps nobody from a CPU, however much company there is.
func TestLoads(t *testing.T) {
	clock := testkit.Must(newClock("high-performance", 0.5))(t)
	const ms = time.Millisecond
	l := &loads{low: 1, uses: []map[int]use{
		{1: {}, 2: {}, 3: {}},
		{1: {8 * ms, 0}, 2: {0, 8 * ms}, 3: {}},
		{1: {12 * ms, 4 * ms}, 2: {4 * ms, 12 * ms}, 3: {}},
		{1: {12 * ms, 4 * ms}, 2: {4 * ms, 12 * ms}, 3: {}},
	}}
	g := &governor{target: l, clock: clock}
	for i := 1; len(l.uses) > 0; i++ {
		g.look(time.Duration(i) * sample)
	}
	testkit.Same(t, []float64{1, 1, 2, 1}, l.told)
	if l.low != 1 || g.totals.Asked != 0 || g.totals.Clocked != g.totals.Used {
		t.Errorf("slowest %g, %+v", l.low, g.totals)
	}
}

func TestCheck(t *testing.T) {
	for policy, floor := range map[string]float64{"no-such": 0.5, "balanced-rs1": 0, "hwp": 0.5, "ondemand": 1.01} {
		if Check(policy, floor) == nil {
			t.Errorf("%s with a floor of %g: no error", policy, floor)
		}
	}
	if err := Check("balanced-rs1,PERFCHECK=30ms", 0.5); err != nil {
		t.Error(err)
	}
}
