package model

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// parts for tests; the names are constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func testPolicy(text string) Policy { return must(ParsePolicy(text)) }

// small is a machine of two sockets with everything: states, turbo, siblings, idle states.
func small(domain Scope) Machine {
	return Machine{Name: "small", Sockets: 2, CoresPerSocket: 2, ThreadsPerCore: 2, PStates: mega(1000, 1250, 1500, 2000), Nominal: 2e9,
		Turbo: []TurboBin{{1, 2.6e9}, {2, 2.3e9}}, SMTRate: 0.62, IdleStates: coreIdle(100e-6, 300e-6), Domain: domain, Power: power(20, 5)}
}

// plain is one without anything that couples CPUs.
func plain(cpus int) Machine {
	return Machine{Name: "plain", Sockets: 1, CoresPerSocket: cpus, ThreadsPerCore: 1, PStates: mega(1000, 1250, 1500, 1750, 2000), Nominal: 2e9,
		Domain: PerThread, Power: power(20, 5)}
}

func dialog(slice, wait string, slices int) Workload {
	return Workload{Name: "dialog", Kind: Dialog, Slices: slices, Slice: must(ParseDist(slice)), Wait: must(ParseDist(wait)), Placement: Spread}
}

func drawCase(t *rapid.T) Case {
	m := small(rapid.SampledFrom(Scopes()).Draw(t, "domain"))
	if rapid.Bool().Draw(t, "plain") {
		m = plain(rapid.IntRange(1, 9).Draw(t, "cpus"))
	}
	w := dialog(rapid.SampledFrom([]string{"5ms", "exp 20ms", "lognormal 60ms cv 0.5"}).Draw(t, "slice"),
		rapid.SampledFrom([]string{"0s", "exp 10ms", "40ms"}).Draw(t, "wait"), rapid.IntRange(1, 4).Draw(t, "slices"))
	w.MemoryShare = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "memory")
	w.Placement = rapid.SampledFrom([]Placement{Spread, Packed, Sticky}).Draw(t, "placement")
	if rapid.Bool().Draw(t, "closed") {
		w.Users, w.Think = rapid.IntRange(1, 20).Draw(t, "users"), must(ParseDist("exp 50ms"))
	}
	return Case{Machine: m, Workload: w, Policy: testPolicy(rapid.SampledFrom([]string{"balanced-rs1", "balanced-rs2", "ondemand",
		"conservative", "intel_pstate", "schedutil", "high-performance", "balanced-rs1,utilisation_reference=maximum"}).Draw(t, "policy")),
		Load: rapid.Float64Range(0.05, 0.45).Draw(t, "load")}
}

func simulateOnce(t interface{ Fatal(...any) }, c Case, steps int64, eager bool) *sim {
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s := newSim(c, must(compileGovernor(c.Policy, c.Machine)), 7, 0)
	s.meter.warmUp, s.meter.steps, s.eager = steps/5, steps, eager
	if eager && s.g.period > 0 && s.g.rule != ruleSchedutil {
		for i := range s.cpus {
			s.unpark(int32(i), false)
		}
	}
	s.run(1 << 40)
	return s
}

// Leaving out the checks that can change nothing must not change anything.
func TestParkedChecksChangeNothing(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		c := drawCase(t)
		lazy, eager := simulateOnce(t, c, 60, false), simulateOnce(t, c, 60, true)
		a, b := lazy.meter.result(1), eager.meter.result(1)
		for r, v := range a.values {
			if math.Abs(v-b.values[r]) > 1e-6*math.Abs(v) {
				t.Fatalf("%s is %v with checks left out and %v with all of them (%d and %d events)", r, v, b.values[r], a.events, b.events)
			}
		}
	})
}

// What goes in comes out: residencies sum to 1, busy and idle time fill the
// horizon, Little's law holds for closed users, and work takes at least as long as at the
// highest frequency.
func TestConservation(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		c := drawCase(t)
		s := simulateOnce(t, c, 200, false)
		m := &s.meter
		m.snapshot() // brings all accounts up to the end
		var busy, idle int64
		for _, v := range m.inPoint {
			busy += v
		}
		for _, v := range m.inIdle {
			idle += v
		}
		var ahead int64 // CPUs that are waking have their exit latency on the account already
		var sum int64
		for i := range s.cpus {
			ahead += max(0, s.cpus[i].since-s.now)
			sum += s.cpus[i].busy
		}
		if got, want := busy+idle-ahead, s.now*int64(len(s.cpus)); got != want || busy != sum {
			t.Fatalf("busy %d (%d by CPU) and idle %d ns come to %d in a horizon of %d", busy, sum, idle, got, want)
		}
		r := m.result(1)
		total := 0.0
		for _, v := range r.points {
			total += v
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("P-state residencies sum to %v", total)
		}
		top := s.hw.rate[len(s.hw.rate)-1]
		if least := float64(c.Workload.Slices) * c.Workload.Slice.Mean / top; c.Workload.Slice.Kind == DistFixed && r.values[CPUSeconds] < least*(1-1e-6) {
			t.Fatalf("CPU time %v is below the work at the highest frequency, %v", r.values[CPUSeconds], least)
		}
		if perf := r.values[Performance]; perf < 0.5-1e-9 || perf > 1.3+1e-9 {
			t.Fatalf("performance %v outside the machine's frequencies", perf)
		}
	})
}

// At fixed frequencies all is known: CPU time is work over speed to the
// nanosecond, and no step ends later at a higher frequency. (With several slices a
// step can: who comes first at a queue changes, Graham's anomaly.)
func TestMonotoneInFrequency(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		c := Case{Machine: plain(rapid.IntRange(1, 6).Draw(t, "cpus")), Workload: dialog("exp 20ms", "0s", 1), Load: rapid.Float64Range(0.05, 0.4).Draw(t, "load")}
		c.Workload.MemoryShare = rapid.Float64Range(0, 1).Draw(t, "memory")
		low := rapid.Float64Range(50, 99).Draw(t, "low")
		results := map[string]replicate{}
		for name, percent := range map[string]float64{"low": low, "high": rapid.Float64Range(low, 100).Draw(t, "high"), "nominal": 100} {
			c.Policy = must(testPolicy("fixed:100").With(pHertz, percent/100))
			results[name] = simulateOnce(t, c, 100, false).meter.result(1)
			results[name].values["speed"] = speed(percent/100*2e9, 2e9, c.Workload.MemoryShare)
		}
		l, h, n := results["low"].values, results["high"].values, results["nominal"].values
		if got, want := l[CPUSeconds]*l["speed"], n[CPUSeconds]; math.Abs(got-want) > 1e-6*want {
			t.Fatalf("CPU time x speed is %v, the work %v", got, want)
		}
		// Histograms are not involved in means: compare exactly, but for rounding to ns.
		if l[StepTime] < h[StepTime]-1e-7 || l[Performance] > h[Performance]+1e-9 || l[Watts]*l[StepTime] < 0 {
			t.Fatalf("slower is better: %v and %v", l, h)
		}
	})
}

func TestSameSeedSameOutcome(t *testing.T) {
	c := Case{Machine: small(PerCore), Workload: dialog("exp 20ms", "exp 10ms", 3), Policy: testPolicy("balanced"), Load: 0.4}
	base, o := testPolicy("high-performance"), Options{Seed: 3, Replications: 4, Events: 300_000, Workers: 1}
	one := must(Compare(context.Background(), c, base, []Policy{c.Policy, base}, o))
	o.Workers = 7
	many := must(Compare(context.Background(), c, base, []Policy{c.Policy, base}, o))
	for i := range one.Rows {
		for r, e := range one.Rows[i].Responses {
			if e != many.Rows[i].Responses[r] && !(math.IsNaN(e.Value) || r == RampTime && math.IsInf(e.Value, 1)) {
				t.Errorf("%s: %v with one worker, %v with seven", r, e, many.Rows[i].Responses[r])
			}
		}
	}
	// Common random numbers: the baseline against itself is exactly 1, and a policy's
	// ratio is known far better than its step time.
	if e := one.Rows[1].Ratio[StepTime]; e.Value != 1 || e.Low != 1 || e.High != 1 {
		t.Errorf("the baseline against itself: %+v", e)
	}
	if ratio, alone := halfWidth(one.Rows[0].Ratio[StepTime]), halfWidth(one.Rows[0].Responses[StepTime]); ratio > alone*0.7 {
		t.Errorf("the ratio is known to %.4f, the step time to %.4f: the random numbers are not common", ratio, alone)
	}
	o.Seed = 4
	if other := must(Compare(context.Background(), c, base, []Policy{c.Policy}, o)); other.Rows[0].Responses[StepTime] == one.Rows[0].Responses[StepTime] {
		t.Error("another seed gave the same step time")
	}
}

// Work is worked out by hand here: turbo bins, siblings, memory share, idle
// states, group commit.
func TestMechanisms(t *testing.T) {
	batch := func(users int, share float64) Workload {
		return Workload{Name: "batch", Kind: Batch, Users: users, Work: 2, Slice: Dist{Mean: 0.1}, Placement: Packed, MemoryShare: share}
	}
	turbo := small(PerThread)
	turbo.SMTRate, turbo.IdleStates = 1, nil
	siblings := small(PerThread)
	siblings.Turbo, siblings.IdleStates = nil, nil
	sleepy := plain(1)
	sleepy.IdleStates = []IdleState{{Name: "deep", ExitLatency: 0.005, TargetResidency: 0}}
	held := turbo
	held.Fixed = 1e9
	one := func(w Workload, slices int) Workload { w.Users, w.Slices = 1, slices; return w }
	for _, c := range []struct {
		name     string
		c        Case
		response Response
		want     float64
	}{
		{"one core active runs at its turbo bin", Case{Machine: turbo, Workload: batch(1, 0)}, Performance, 1.3},
		{"two cores of a socket at theirs", Case{Machine: turbo, Workload: batch(4, 0)}, Performance, 1.15},
		{"firmware holds the frequency", Case{Machine: held, Workload: batch(1, 0)}, Performance, 0.5},
		{"two siblings slow each other", Case{Machine: siblings, Workload: batch(2, 0)}, CPUSeconds, 2 / 0.62},
		{"half of the work is memory's", Case{Machine: held, Workload: batch(1, 0.5)}, CPUSeconds, 2 * 1.5},
		{"waking delays a step", Case{Machine: sleepy, Workload: one(dialog("20ms", "10ms", 2), 2)}, StepTime, 0.02 + 0.01 + 0.02 + 2*0.005},
		{"but is no CPU time", Case{Machine: sleepy, Workload: one(dialog("20ms", "10ms", 2), 2)}, CPUSeconds, 0.04},
		{"one writer waits for its flush", Case{Machine: plain(4), Workload: Workload{Name: "log", Kind: Commit, Users: 1, Slice: Dist{Mean: 0.002},
			Device: Dist{Mean: 0.001}, FlushWork: Dist{Mean: 0.0005}, Placement: Spread}}, StepTime, 0.0035},
		{"whose writing is CPU time too", Case{Machine: plain(4), Workload: Workload{Name: "log", Kind: Commit, Users: 1, Slice: Dist{Mean: 0.002},
			Device: Dist{Mean: 0.001}, FlushWork: Dist{Mean: 0.0005}, Placement: Spread}}, CPUSeconds, 0.0025},
		// The first commit starts a flush, the other four just miss it and share the next,
		// and so on: five transactions in two flushes.
		{"commits share flushes", Case{Machine: plain(5), Workload: Workload{Name: "log", Kind: Commit, Users: 5, Slice: Dist{Mean: 0.001},
			Device: Dist{Mean: 0.010}, Placement: Spread}}, Throughput, 5 / 0.020},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.c.Policy = testPolicy("high-performance")
			c.c.Workload.Source = "test"
			out := testkit.Must(Simulate(context.Background(), c.c, Options{Replications: 2, Steps: 200}))(t)
			if got := out.Responses[c.response].Value; math.Abs(got-c.want) > 0.003*c.want {
				t.Errorf("%s is %v, worked out by hand %v", c.response, got, c.want)
			}
		})
	}
}

func TestEnergy(t *testing.T) {
	m := plain(2)
	m.Power = Power{SocketWatts: 10, CoreWatts: 8, LowVolts: 1, NominalVolts: 1}
	w := Workload{Name: "batch", Kind: Batch, Users: 2, Work: 5, Slice: Dist{Mean: 5}, Placement: Spread}
	for _, c := range []struct {
		policy string
		watts  float64
	}{{"fixed:100", 10 + 2*8}, {"fixed:50", 10 + 2*4}} {
		out := must(Simulate(context.Background(), Case{Machine: m, Workload: w, Policy: testPolicy(c.policy)}, Options{Replications: 2}))
		if got := out.Responses[Watts].Value; math.Abs(got-c.watts) > 1e-6 {
			t.Errorf("%s: %v W, worked out by hand %v W", c.policy, got, c.watts)
		}
	}
}

func TestUnstable(t *testing.T) {
	for _, c := range []struct {
		name string
		c    Case
	}{
		{"above the cap", Case{Machine: plain(2), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("power-saver"), Load: 0.9}},
		{"above 1", Case{Machine: plain(2), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("performance"), Load: 1.2}},
		// A reading in which a slow CPU never looks busy enough to be made faster.
		{"below the cap, but never reaching it", Case{Machine: plain(1), Workload: dialog("1ms", "0s", 1),
			Policy: testPolicy("balanced-rs1,utilisation_reference=maximum"), Load: 0.85}},
	} {
		_, err := Simulate(context.Background(), c.c, Options{Replications: 2, Steps: 400_000})
		var unstable *UnstableError
		if !errors.As(err, &unstable) {
			t.Errorf("%s: %v, want an *UnstableError", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Simulate(ctx, Case{Machine: plain(2), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("performance"), Load: 0.5}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// mega are frequencies in MHz.
func mega(f ...float64) []float64 {
	out := make([]float64, len(f))
	for i := range f {
		out[i] = f[i] * 1e6
	}
	return out
}

func power(socket, core float64) Power {
	return Power{Source: "assumption", SocketWatts: socket, CoreWatts: core, LowVolts: 0.9, NominalVolts: 1.15, SMTShare: 0.2}
}

func coreIdle(c6Exit, c6Residency float64) []IdleState {
	return []IdleState{{"C1", 2e-6, 2e-6, 0.5}, {"C1E", 10e-6, 20e-6, 0.3}, {"C6", c6Exit, c6Residency, 0.02}}
}

// BenchmarkEvents reports simulated events per CPU second of the full model: SAP's
// dialog steps at load 0.5, on the seed's machine and on one with turbo, idle
// states and siblings. There, a change of the socket's turbo bin moves the end of
// every slice on it, and on 1,000 CPUs of 20 frequency domains a change of frequency
// those of 50; with-moves counts those too, as an engine does that replaces
// such an event by a new one.
func BenchmarkEvents(b *testing.B) {
	thousand, _ := FindMachine("sap")
	thousand.Sockets, thousand.CoresPerSocket, thousand.Domain = 20, 50, PerSocket
	for _, machine := range []string{"sap", "olontsev", "thousand-by-socket"} {
		for _, policy := range []string{"high-performance", "balanced-rs1", "ondemand", "schedutil"} {
			b.Run(machine+"/"+policy, func(b *testing.B) {
				m, err := FindMachine(machine)
				if err != nil {
					m = thousand
				}
				w, _ := FindWorkload("sap-dialog")
				p := testkit.Must(ParsePolicy(policy))(b)
				c := Case{Machine: m, Workload: w, Policy: p, Load: 0.5}
				g, _ := compileGovernor(p, m)
				s := newSim(c, g, 1, 0)
				s.meter.steps = 1 << 40
				s.run(100_000)
				b.ReportAllocs()
				b.ResetTimer()
				moved, began := s.moved, cpuTime()
				s.run(s.events + int64(b.N))
				b.ReportMetric(float64(int64(b.N)+s.moved-moved)/(cpuTime()-began).Seconds(), "with-moves/cpu-s")
				b.ReportMetric(float64(b.N)/(cpuTime()-began).Seconds(), "events/cpu-s")
			})
		}
	}
}

// BenchmarkThousandCPUs compares ten policies at ten loads on 1,000 CPUs. The
// limit is a minute on two cores, so 120 CPU seconds. Cores alone in their frequency
// domain, without turbo, are the easy case; a change of the turbo bin or of the
// frequency of a socket moves the ends of up to 50 slices.
func BenchmarkThousandCPUs(b *testing.B) {
	m, _ := FindMachine("sap")
	m.Sockets, m.CoresPerSocket = 20, 50
	b.Run("plain", func(b *testing.B) { compareThousand(b, m) })
	m.Domain = PerSocket
	m.Turbo = []TurboBin{{4, 3.1e9}, {12, 2.9e9}, {25, 2.7e9}, {50, 2.5e9}}
	b.Run("sockets-turbo", func(b *testing.B) { compareThousand(b, m) })
}

func compareThousand(b *testing.B, m Machine) {
	b.Helper()
	w, _ := FindWorkload("sap-dialog")
	base, _ := ParsePolicy("high-performance")
	var policies []Policy
	for _, name := range []string{"balanced-rs1", "balanced-rs1,PERFCHECK=30ms", "balanced-rs1,PERFCHECK=50ms", "balanced-rs2",
		"ondemand", "conservative", "schedutil", "schedutil,UTIL_EST=off", "intel_pstate", "performance"} {
		p := testkit.Must(ParsePolicy(name))(b)
		policies = append(policies, p)
	}
	loads := []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	for range b.N {
		began := cpuTime()
		all, err := CompareAll(context.Background(), Case{Machine: m, Workload: w}.AtLoads(loads), base, policies, Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		var events int64
		widest := 0.0
		for _, c := range all {
			events += c.Baseline.Events
			for _, r := range c.Rows {
				events += r.Events
				widest = max(widest, halfWidth(r.Ratio[StepTime]))
			}
		}
		spent := (cpuTime() - began).Seconds()
		b.ReportMetric(spent, "cpu-s/op")
		b.ReportMetric(float64(events)/spent, "events/cpu-s")
		b.ReportMetric(widest*100, "%-widest")
	}
}
