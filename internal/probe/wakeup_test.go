package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/thread"
)

// fakeWake is a processor with a known clock: full speed while busy, and for the
// first slow seconds after sleeping only part of it. Time passes on its own clock.
type fakeWake struct {
	at       time.Time
	slow     float64 // seconds after a sleep at half speed
	noise    float64 // relative
	drift    float64 // relative slow-down per second of run time
	goneCPU  int     // -1: none
	goneFrom int     // calls
	stolen   float64 // share of each measured step that somebody else takes
	awake    float64 // share of each pause in which somebody else has the CPU
	often    float64 // share of pauses in which somebody else has it from end to end
	worked   float64 // s
	exit     float64 // seconds that it takes to wake
	cold     float64 // seconds that memory work loses after a sleep
	ramp     float64 // slower by this share at first, and by half a second's decay less while busy
	calls    int
	closed   bool
	rnd      *rand.Rand
	start    time.Time
}

func newFakeWake() *fakeWake {
	at := time.Unix(1e9, 0)
	return &fakeWake{at: at, start: at, goneCPU: -1, rnd: rand.New(rand.NewPCG(1, 1))}
}

func (f *fakeWake) run(req burstRequest) (burstReply, error) {
	f.calls++
	if req.CPU == f.goneCPU && f.calls > f.goneFrom {
		return burstReply{}, fmt.Errorf("CPU 1: %w", thread.ErrNoCPU)
	}
	const hz = 2e9
	per := map[string]float64{kernelALU: hz, kernelMixed: hz / 40}
	var reply burstReply
	slept, worked := false, 0.0
	for _, s := range req.Steps {
		if s.Sleep > 0 {
			f.pass(s.Sleep + f.exit)
			foreign := f.awake * s.Sleep
			if f.rnd.Float64() < f.often {
				foreign = s.Sleep
			}
			reply.Samples = append(reply.Samples, burstSample{Late: f.exit * (1 + f.noise*f.rnd.Float64()), HasLate: true, Foreign: foreign, HasForeign: true})
			slept = true
			continue
		}
		n := float64(s.N)
		if s.Spin > 0 {
			n = s.Spin * per[s.Kernel]
		}
		t := n / per[s.Kernel]
		if slept {
			t += min(f.slow, 2*t) / 2
			if s.Kernel == kernelMixed {
				t += f.cold
			}
		}
		t *= 1 + f.ramp*math.Exp(-2*worked)
		worked += t
		t *= (1 + f.noise*f.rnd.NormFloat64()) * (1 + f.drift*f.at.Sub(f.start).Seconds())
		wall := t / (1 - f.stolen)
		f.worked += t
		f.pass(wall)
		reply.Samples = append(reply.Samples, burstSample{N: uint64(n), Wall: wall, CPU: t, HasCPU: true, Late: 1e-7, HasLate: s.Spin > 0})
		slept = false
	}
	return reply, nil
}

func (f *fakeWake) pass(s float64)                       { f.at = f.at.Add(time.Duration(s * 1e9)) }
func (f *fakeWake) load([]int) (map[int]proc.Load, bool) { return nil, false }
func (f *fakeWake) close()                               { f.closed = true }
func (f *fakeWake) probe() *wakeup {
	return &wakeup{start: func(context.Context) (runner[burstRequest, burstReply], error) { return f, nil }, now: func() time.Time { return f.at }}
}

func cpuConfig(budget time.Duration, cpus ...int) Config {
	return Config{Facts: &host.Facts{}, CPUs: cpus, Budget: budget, Seed: 7, Alpha: 0.05}
}

func named(t *testing.T, o Outcome, name string) result.Measurement {
	t.Helper()
	for _, m := range o.Measurements {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no measurement %s", name)
	return result.Measurement{}
}

// A CPU that takes 20 ms at half speed to wake must show as 1 + 10/slice, through
// a drift that is far larger over the whole run.
func TestWakeupFindsKnownPenalty(t *testing.T) {
	f := newFakeWake()
	f.slow, f.noise, f.drift = 0.010, 0.002, 0.01
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0, 1)))(t)
	for name, want := range map[string]float64{
		"wakeup.alu.10ms.cpu0": 1.5, "wakeup.alu.30ms.cpu0": 1 + 5./30, "wakeup.alu.100ms.cpu0": 1.05,
		"wakeup.mixed.10ms.cpu0": 1.5,
	} {
		m := named(t, o, name)
		if !m.Estimate.Contains(want) || m.Estimate.High-m.Estimate.Low > 0.05 || m.Estimate.N < 10 {
			t.Errorf("%s: %+v, want %.3f inside", name, *m.Estimate, want)
		}
		if !(m.NoiseFloor > 0 && m.NoiseFloor < 0.02) {
			t.Errorf("%s: noise floor %g", name, m.NoiseFloor)
		}
	}
	if m := named(t, o, "wakeup.frequency.after-sleep.cpu0"); math.Abs(m.Estimate.Value/1.33e9-1) > 0.25 ||
		m.Unit != "Hz" {
		t.Errorf("clock after sleep %+v %s", *m.Estimate, m.Unit)
	}
	labels := named(t, o, "wakeup.alu.10ms.cpu0").Labels
	n := strconv.Itoa(named(t, o, "wakeup.alu.10ms.cpu0").Estimate.N)
	want := map[string]string{"cpu": "0", "class": "all", "kernel": "alu", "slice": "0.01", "clean": n, "rounds": n}
	var got map[string]string // as JSON has them
	if b, err := json.Marshal(labels); err != nil || json.Unmarshal(b, &got) != nil {
		t.Fatal(err)
	}
	testkit.Same(t, want, got)
	if len(o.Warnings) != 0 || o.Skipped != "" || !f.closed {
		t.Errorf("warnings %q, skipped %q, closed %v", o.Warnings, o.Skipped, f.closed)
	}
	if took := f.at.Sub(f.start).Seconds(); took < 10 || took > 24 {
		t.Errorf("took %.1f s of 24", took)
	}
}

func TestWakeupWithoutPenalty(t *testing.T) {
	f := newFakeWake()
	f.noise = 0.01
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
	for _, m := range o.Measurements {
		if m.Unit == "ratio" && (m.Estimate.Low > 1.02 || m.Estimate.High < 0.98) {
			t.Errorf("%s claims %+v on a CPU without penalty", m.Name, *m.Estimate)
		}
	}
}

func TestWakeupDisturbed(t *testing.T) {
	f := newFakeWake()
	f.stolen, f.noise = 0.2, 0.01
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
	m := named(t, o, "wakeup.alu.10ms.cpu0")
	if !m.Estimate.HasInterval() || len(m.Warnings) != 0 || m.Labels.Awake != 0 || *m.Labels.Clean != 0 {
		t.Errorf("%+v, warnings %q", *m.Estimate, m.Warnings)
	}
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "steal") {
		t.Errorf("warnings %q", o.Warnings)
	}
	if o.Seconds > 1.3*24 {
		t.Errorf("repeated for %.0f s of 24", o.Seconds)
	}
}

// Somebody else has the CPU while it should sleep, so that it is as fast after the
// pause as before: that is no pause, and the ratio of 1 no finding.
func TestWakeupNeverIdle(t *testing.T) {
	f := newFakeWake()
	f.awake, f.noise = 0.98, 0.01
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
	for _, name := range []string{"wakeup.alu.10ms.cpu0", "wakeup.cold.10ms.cpu0", "wakeup.latency.p50.cpu0",
		"wakeup.frequency.after-sleep.cpu0"} {
		m := named(t, o, name)
		if got := m.Labels.Awake; got < m.Estimate.N {
			t.Errorf("%s: others had the CPU in %d of %d pauses", name, got, m.Estimate.N)
		}
	}
	if m := named(t, o, "wakeup.alu.10ms.cpu0"); *m.Labels.Clean != 0 || m.Labels.Rounds != m.Estimate.N {
		t.Errorf("labels %v", m.Labels)
	}
}

// Rounds in which nobody disturbed count, else those in whose pause the CPU was idle, else all.
func TestWakeupRoundsThatCount(t *testing.T) {
	key := wakeKey{0, kernelALU, 0.010}
	target := wakeTarget{CPU: 0, Class: "all", Socket: -1}
	for _, c := range []struct {
		spoilt   map[spoil]int
		n, awake int
	}{
		{map[spoil]int{unspoilt: 6, notIdle: 1, offCPU: 10}, 6, 0},
		{map[spoil]int{unspoilt: 4, notIdle: 1, offCPU: 9, stolen: 2}, 15, 0},
		{map[spoil]int{unspoilt: 4, notIdle: 12}, 16, 12},
		{map[spoil]int{notIdle: 16}, 16, 16},
		{map[spoil]int{unspoilt: 3}, 3, 0},
	} {
		r := &wakeRun{plan: wakePlans[3], targets: []wakeTarget{target}}
		for by, n := range c.spoilt {
			for range n {
				s := burstSample{N: 1e6, Wall: 0.010, CPU: 0.010, HasCPU: true}
				r.rounds = append(r.rounds, wakeSamples{key: &wakeTriple{Sample: [wakeConds]burstSample{s, s, s}, Spoilt: by}})
			}
		}
		if m := r.ratio(target, key, 0.05); m.Estimate.N != c.n || m.Labels.Awake != c.awake ||
			*m.Labels.Clean != c.spoilt[unspoilt] {
			t.Errorf("%v: n %d, labels %v", c.spoilt, m.Estimate.N, m.Labels)
		}
	}
}

// On a host that others use, a tenth of the CPUs is all that is used, and pauses in which others
// had the CPU are made again.
func TestWakeupGentle(t *testing.T) {
	f := newFakeWake()
	f.noise, f.often = 0.005, 0.5
	cfg := cpuConfig(8*time.Second, 0, 1)
	cfg.Share = 0.1
	o := testkit.Must(f.probe().Run(t.Context(), cfg))(t)
	m := named(t, o, "wakeup.alu.10ms.cpu0")
	if !m.Estimate.HasInterval() || m.Labels.Awake != 0 || m.Labels.Rounds-*m.Labels.Clean > m.Labels.Rounds/3 {
		t.Errorf("%v, labels %+v", m.Estimate, m.Labels)
	}
	if took := f.at.Sub(f.start).Seconds(); f.worked > 0.2*took*1.02 || took > 10 {
		t.Errorf("%.2f CPU seconds in %.1f s", f.worked, took)
	}
}

// One tick of 10 ms in a pause may be chance, a few of them in a round are not.
func TestWakeupOftenAwake(t *testing.T) {
	for awake, want := range map[float64]bool{0.02: false, 0.12: true} {
		f := newFakeWake()
		f.awake = awake
		o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
		if got := named(t, o, "wakeup.alu.10ms.cpu0").Labels.Awake > 0; got != want {
			t.Errorf("others in %g of the pause: awake %v", awake, got)
		}
	}
}

// An exit latency lies before the slice, which cannot see it.
func TestWakeupExitLatency(t *testing.T) {
	f := newFakeWake()
	f.exit, f.noise = 0.002, 0.01
	o, err := f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0))
	testkit.OK(t, err)
	m := named(t, o, "wakeup.latency.p50.cpu0")
	if m.Unit != "s" || math.Abs(m.Estimate.Value/0.002-1) > 0.02 || !m.Estimate.HasInterval() ||
		m.Labels.Kernel != "latency" {
		t.Errorf("p50 %+v %v", m.Estimate, m.Labels)
	}
	if m := named(t, o, "wakeup.latency.floor.cpu0"); math.Abs(m.Estimate.Value-1e-7) > 1e-12 {
		t.Errorf("floor %+v", m.Estimate)
	}
	if m := named(t, o, "wakeup.latency.p99.cpu0"); m.Known() || !strings.Contains(m.Reason, "takes 100") {
		t.Errorf("p99 %+v, %q", m.Estimate, m.Reason)
	}
	o, err = f.probe().Run(t.Context(), cpuConfig(time.Minute, 0))
	if m := named(t, o, "wakeup.latency.p99.cpu0"); err != nil || !m.Known() || m.Estimate.Value < 0.002 {
		t.Errorf("p99 in a minute %+v, %q", m.Estimate, m.Reason)
	}
}

// The part of memory work comes out of the rounds themselves: the clock's part
// falls out, and so does the noise that both share.
func TestWakeupCold(t *testing.T) {
	f := newFakeWake()
	f.slow, f.noise = 0.010, 0.002
	o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
	m := named(t, o, "wakeup.cold.10ms.cpu0")
	if !m.Estimate.HasInterval() || math.Abs(m.Estimate.Value-1) > 0.01 || !(m.NoiseFloor < 0.02) {
		t.Errorf("both kernels lose the same clock: %+v, floor %g", m.Estimate, m.NoiseFloor)
	}
	if loss := m.Labels.Loss; math.Abs(loss) > 1e-4 {
		t.Errorf("loss %g", loss)
	}
	f = newFakeWake()
	f.cold, f.noise = 0.004, 0.002
	o = testkit.Must(f.probe().Run(t.Context(), cpuConfig(24*time.Second, 0)))(t)
	m = named(t, o, "wakeup.cold.10ms.cpu0")
	if !m.Estimate.Contains(1.4) || m.Estimate.High-m.Estimate.Low > 0.05 {
		t.Errorf("4 ms of 10 are lost to caches: %+v", m.Estimate)
	}
	if loss := m.Labels.Loss; math.Abs(loss-0.004) > 1e-4 {
		t.Errorf("loss %g", loss)
	}
}

// A governor that takes long to react is still at it in the busy stretch.
func TestWakeupRamping(t *testing.T) {
	for _, c := range []struct {
		ramp   float64
		budget time.Duration
		want   bool
	}{{0.8, 24 * time.Second, true}, {0.8, 6 * time.Second, true}, {0, 24 * time.Second, false}} {
		f := newFakeWake()
		f.ramp, f.noise = c.ramp, 0.002
		o := testkit.Must(f.probe().Run(t.Context(), cpuConfig(c.budget, 0)))(t)
		if m := named(t, o, "wakeup.alu.10ms.cpu0"); m.Labels.Ramping != c.want {
			t.Errorf("slower by %g at first, %v: %v, floor %g", c.ramp, c.budget, m.Labels, m.NoiseFloor)
		}
	}
}

// A CPU that goes offline is unknown with a reason; the others are measured.
func TestWakeupCPUGoesOffline(t *testing.T) {
	for _, from := range []int{0, 3, 20} { // at once, while calibrating, in a round
		f := newFakeWake()
		f.goneCPU, f.goneFrom = 1, from
		cfg := cpuConfig(24*time.Second, 0, 1)
		cfg.Facts.Topology.CoreTypes = []host.CoreType{{Name: "big", CPUs: []int{0}}, {Name: "little", CPUs: []int{1}}}
		o := testkit.Must(f.probe().Run(t.Context(), cfg))(t)
		if m := named(t, o, "wakeup.alu.10ms.cpu0"); !m.Known() || !m.Estimate.HasInterval() {
			t.Errorf("from call %d: CPU 0 is %+v", from, m)
		}
		for _, name := range []string{"wakeup.alu.10ms.cpu1", "wakeup.frequency.busy.cpu1"} {
			m := named(t, o, name)
			if m.Known() && m.Estimate.HasInterval() || !m.Known() && !strings.Contains(m.Reason, "offline") {
				t.Errorf("from call %d: %s is %+v", from, name, m)
			}
		}
		if len(o.Warnings) == 0 || !strings.Contains(strings.Join(o.Warnings, " "), "offline") {
			t.Errorf("warnings %q", o.Warnings)
		}
	}
}

func TestWakeupSkips(t *testing.T) {
	f := newFakeWake()
	o, err := f.probe().Run(t.Context(), cpuConfig(time.Second))
	if err != nil || o.Skipped == "" {
		t.Errorf("no CPU: %+v, %v", o, err)
	}
	p := f.probe()
	p.start = func(context.Context) (runner[burstRequest, burstReply], error) {
		return nil, errors.New("cannot start")
	}
	if o, err := p.Run(t.Context(), cpuConfig(time.Second, 0)); err != nil || o.Skipped != "cannot start" {
		t.Errorf("no worker: %q, %v", o.Skipped, err)
	}
}
