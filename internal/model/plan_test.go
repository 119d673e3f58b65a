package model

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// Slices of a microsecond come by the million a second.
func TestEventsBoundTheFirstRun(t *testing.T) {
	c := Case{Machine: must(FindMachine("sap")), Workload: dialog("0.001ms", "0.001ms", 2), Load: 0.2}
	x := must(Compare(context.Background(), c, testPolicy("high-performance"),
		[]Policy{testPolicy("balanced-rs1"), testPolicy("schedutil")}, Options{Events: 200_000}))
	for _, r := range append([]Row{x.Baseline}, x.Rows...) {
		if r.Events > 300_000 {
			t.Errorf("%s: %d events, where 200,000 are allowed", r.Policy, r.Events)
		}
		if !slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Of == CutShort && strings.Contains(w.Text, "cut to the events allowed") }) {
			t.Errorf("%s: nothing says that it was cut short: %v", r.Policy, r.Warnings)
		}
	}
}

// The baseline's own figures are printed too, so they have a target.
func TestBaselineHasPrecision(t *testing.T) {
	c := Case{Machine: plain(4), Workload: dialog("exp 20ms", "exp 10ms", 3), Load: 0.7}
	base := testPolicy("high-performance")
	x := must(Compare(context.Background(), c, base, []Policy{base}, Options{Seed: 1, Precision: 0.004}))
	if w := halfWidth(x.Baseline.Responses[StepTime]); w > 0.026 {
		t.Errorf("the baseline's step time is known to %.3g only", w)
	}
}

// What is looked up of a domain must be what a look at all of its CPUs gives.
func TestDomainRunsAtItsHighestRequest(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		c := drawCase(t)
		c.Machine = small(rapid.SampledFrom([]Scope{PerCore, PerSocket}).Draw(t, "shared"))
		testkit.OK(t, c.Validate())
		s := newSim(c, must(compileGovernor(c.Policy, c.Machine)), 7, 0)
		s.meter.steps = 40
		for !s.done && s.step() {
			want := make([]int32, len(s.hw.domains))
			for i := range s.cpus {
				k := &s.cpus[i]
				want[k.domain] = max(want[k.domain], k.request)
				for l := range s.hw.asking {
					if s.hw.asking[l].has(i) != (l == int(k.request)) {
						t.Fatalf("CPU %d asks for %d, and is listed under %d wrongly", i, k.request, l)
					}
				}
			}
			for d, w := range want {
				// Under schedutil a request that fell counts from the next look on.
				if got := s.hw.domains[d].request; got != w && (s.g.rule != ruleSchedutil || got < w) {
					t.Fatalf("domain %d runs at %d; its CPUs ask for up to %d", d, got, w)
				}
			}
		}
	})
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		settle, steps int64
		most          float64
		want          plan
	}{
		{100, 500, math.Inf(1), plan{100, 500, 100}},
		{100, 5000, math.Inf(1), plan{500, 5000, 100}},    // a tenth
		{100, 5000, 1200, plan{100, 1000, 100}},           // the measurement gives way first
		{10000, 5000, 1200, plan{800, 363, 10000}},        // to a third
		{1 << 40, 1 << 40, 0.5, plan{20, 20, 1 << 40}},    // but something is left
		{1 << 40, 1 << 40, 1200, plan{800, 363, 1 << 40}}, // without overflow
	} {
		if got := (plan{settle: c.settle, steps: c.steps}).within(c.most); got != c.want {
			t.Errorf("%d + %d steps within %g: %+v, want %+v", c.settle, c.steps, c.most, got, c.want)
		}
	}
}

// drive runs slices with idle times between on a clock in virtual time, in pieces
// so long, and returns the mean time of a slice in seconds.
func drive(c *Clock, slice, idle, piece time.Duration, n, skip int) float64 {
	var now time.Duration
	var t Task
	sum := 0.0
	for k := range n {
		begin := now
		c.Start(now, &t)
		for left := float64(slice); left > 0; {
			speed := c.Speed(now)
			step := min(float64(piece), left/speed)
			left -= step * speed
			now += time.Duration(math.Ceil(step))
		}
		c.Stop(now)
		if k >= skip {
			sum += (now - begin).Seconds()
		}
		now += idle
	}
	return sum / float64(n-skip)
}

// What emulates a governor must not drift away from what simulates it.
func TestClockIsTheSimulatedGovernor(t *testing.T) {
	const phases, slices, skip = 20, 30, 10
	m := Stepped(1, 0.5)
	policies := []string{"high-performance", "power-saver", "fixed:60", "powersave", "balanced-rs1", "balanced-rs1,PERFCHECK=50ms",
		"balanced-rs1,PERFDECPOL=single,utilisation_reference=maximum", "balanced-rs2", "ondemand", "conservative", "intel_pstate", "schedutil",
		"schedutil,UTIL_EST=off"}
	for _, name := range testkit.Sample(policies, 6) {
		p := testkit.Must(ParsePolicy(name))(t)
		for _, w := range []struct{ slice, idle time.Duration }{{100 * time.Millisecond, 300 * time.Millisecond}, {20 * time.Millisecond, 20 * time.Millisecond}, {90 * time.Millisecond, 10 * time.Millisecond}} {
			t.Run(fmt.Sprint(name, " ", w.slice, " ", w.idle), func(t *testing.T) {
				out := testkit.Must(Simulate(t.Context(), Case{Machine: m, Policy: p, Workload: Workload{Name: "x", Kind: Dialog, Users: 1, Slices: 1, Placement: Sticky,
					Slice: Dist{Mean: w.slice.Seconds()}, Think: Dist{Mean: w.idle.Seconds()}}}, Options{Seed: 1, Replications: 20, Steps: 100}))(t)
				want, got := out.Responses[CPUSeconds].Value, 0.0
				for k := range phases {
					c := testkit.Must(NewClock(p, m, (float64(k)+0.5)/phases))(t)
					got += drive(c, w.slice, w.idle, 50*time.Microsecond, slices, skip) / phases
				}
				if math.Abs(got/want-1) > 0.01 {
					t.Errorf("a slice takes %.5g s on the clock, %.5g s simulated", got, want)
				}
			})
		}
	}
}

// A task takes its utilisation along, and leaves none behind.
func TestClockMovesUtilisation(t *testing.T) {
	p := testkit.Must(ParsePolicy("schedutil,UTIL_EST=off"))(t)
	m := Stepped(2, 0.1)
	clock := func() *Clock {
		return testkit.Must(NewClock(p, m, 0))(t)
	}
	a, b := clock(), clock()
	var task Task
	a.Start(0, &task)
	a.Stop(500 * time.Millisecond)
	b.Start(500*time.Millisecond, &task)
	if s := b.Speed(510 * time.Millisecond); s < 0.9 {
		t.Errorf("a task that ran for long starts at %g of full speed elsewhere", s)
	}
	var other Task
	a.Start(520*time.Millisecond, &other)
	if s := a.Speed(520 * time.Millisecond); s > 0.2 {
		t.Errorf("where it came from, another starts at %g", s)
	}
}

func TestClockRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"hwp":                             "policy hwp: the hardware chooses the frequency, by a rule that nobody has published",
		"fixed:40":                        "policy fixed:40: 40 % of nominal is 400 MHz; this machine runs at 50 to 100 % (500 MHz to 1.00 GHz)",
		"balanced-rs1,PERFDECTHRESHOLD=1": "policy balanced-rs1: PERFDECTHRESHOLD is 1; it must be below PERFINCTHRESHOLD, 0.9",
	} {
		p := testkit.Must(ParsePolicy(name))(t)
		if _, err := NewClock(p, Stepped(1, 0.5), 0); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if m := Stepped(3, 0.57); m.Validate() != nil || len(m.PStates) != 10 || m.PStates[0] != 0.57e9 {
		t.Errorf("%+v: %v", m.PStates, m.Validate())
	}
}

// The queue must hand out what a sorted list of the same operations would.
func TestQueueAgreesWithASortedList(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		const slots = 40
		q := NewQueue(slots)
		pending := map[int32]Time{}
		var now Time
		for range rapid.IntRange(1, 300).Draw(t, "operations") {
			slot := int32(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0, 1:
				at := now + Time(rapid.IntRange(0, 50).Draw(t, "delay"))
				q.Set(slot, slot%3, at)
				pending[slot] = at
			case 2:
				q.Cancel(slot)
				delete(pending, slot)
			case 3:
				e, ok := q.Next()
				if ok != (len(pending) > 0) {
					t.Fatalf("Next ok %v with %d pending", ok, len(pending))
				}
				if !ok {
					continue
				}
				for s, at := range pending {
					if at < e.At || at == e.At && s < e.Slot {
						t.Fatalf("got %v of slot %d although slot %d is at %v", e.At, e.Slot, s, at)
					}
				}
				if at, there := pending[e.Slot]; !there || at != e.At || e.Kind != e.Slot%3 {
					t.Fatalf("got %+v, the list has %v %v", e, at, there)
				}
				delete(pending, e.Slot)
				now = e.At
			}
			if len(q.heap) != len(pending) {
				t.Fatalf("length %d, the list has %d", len(q.heap), len(pending))
			}
			for s := range int32(slots) {
				if _, there := pending[s]; q.Pending(s) != there {
					t.Fatalf("slot %d pending %v", s, q.Pending(s))
				}
			}
		}
	})
}

func TestQueueDoesNotAllocate(t *testing.T) {
	q := NewQueue(64)
	for s := range int32(64) {
		q.Set(s, 0, Time(s))
	}
	testkit.Is(t, 0, testing.AllocsPerRun(1000, func() {
		e, _ := q.Next()
		q.Set(e.Slot, 0, e.At+64)
	}), "allocations per event")
}

func TestHistogramQuantiles(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int64Range(0, 1e15), 1, 200).Draw(t, "values")
		h := NewHistogram()
		for _, x := range v {
			h.Record(x)
		}
		slices.Sort(v)
		for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
			want := Seconds(v[max(1, int(math.Ceil(q*float64(len(v)))))-1])
			if got := h.Quantile(q); math.Abs(got-want) > RelativeError*want {
				t.Fatalf("quantile %g of %v: %v, want %v", q, v, got, want)
			}
		}
	})
	h := NewHistogram()
	if !math.IsNaN(h.Quantile(0.5)) {
		t.Error("the median of nothing is not NaN")
	}
	h.Record(math.MaxInt64)
	if got := h.Quantile(1); math.Abs(got/Seconds(math.MaxInt64)-1) > RelativeError {
		t.Errorf("the largest time comes back as %v", got)
	}
}

func TestStreams(t *testing.T) {
	a, b := Stream(1, 2, 3, 4), Stream(1, 2, 3, 4)
	for range 100 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("equal arguments give different numbers")
		}
	}
	// Neighbouring streams: the correlation of 10,000 pairs has a standard error of
	// 0.01.
	for _, c := range []struct {
		name string
		next func(i int) (x, y float64)
	}{
		{"replications", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 3, 3, 4).Float64)},
		{"purposes", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 2, 4, 4).Float64)},
		{"indices", neighbours(Stream(1, 2, 3, 4).Float64, Stream(1, 2, 3, 5).Float64)},
		{"seeds", neighbours(Stream(1, 2, 3, 4).Float64, Stream(2, 2, 3, 4).Float64)},
		{"first numbers", func(i int) (x, y float64) {
			return Stream(1, 0, 0, i).Float64(), Stream(1, 0, 0, i+1).Float64()
		}},
	} {
		var xy float64
		for i := range 10000 {
			x, y := c.next(i)
			xy += (x - 0.5) * (y - 0.5) * 12
		}
		if r := xy / 10000; math.Abs(r) > 0.04 {
			t.Errorf("neighbouring %s correlate by %.3f", c.name, r)
		}
	}
}

func neighbours(a, b func() float64) func(int) (x, y float64) {
	return func(int) (float64, float64) { return a(), b() }
}
