package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

func TestBuiltinsAreValid(t *testing.T) {
	for _, m := range Machines() {
		if err := m.Validate(); err != nil || m.Source == "" {
			t.Errorf("machine %s: %v, source %q", m.Name, err, m.Source)
		}
		for _, w := range Workloads() {
			for _, name := range PolicyNames() {
				p := testPolicy(strings.Replace(name, "PERCENT", "80", 1))
				err := Case{Machine: m, Workload: w, Policy: p, Load: 0.3}.Validate()
				if (err == nil) == p.Bounds {
					t.Errorf("%s, %s, %s: %v", m.Name, w.Name, name, err)
				}
			}
		}
	}
	for _, w := range Workloads() {
		if err := w.Validate(); err != nil || w.Source == "" {
			t.Errorf("workload %s: %v, source %q", w.Name, err, w.Source)
		}
		if h := HomeMachine(w.Name); h != "" {
			must(FindMachine(h))
		}
	}
	testkit.Refused(FindMachine("vax"))(t, "olontsev", "an unknown machine")
	testkit.Refused(FindWorkload("vax"))(t, "sap-dialog", "an unknown workload")
}

// Every number out of range is an error that names its key and the range.
func TestInvalidNumbersNameTheirKey(t *testing.T) {
	machine := func(change func(*Machine)) func() error {
		return func() error { m := small(PerCore); change(&m); return m.Validate() }
	}
	workload := func(change func(*Workload)) func() error {
		return func() error { w := dialog("20ms", "10ms", 2); change(&w); return w.Validate() }
	}
	load := func(l float64) func() error {
		return func() error {
			return Case{Machine: plain(1), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("performance"), Load: l}.Validate()
		}
	}
	parse := func(text string) func() error { return func() error { _, err := ParsePolicy(text); return err } }
	options := func(o Options) func() error {
		return func() error {
			_, err := Simulate(context.Background(), Case{Machine: plain(1), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("performance"), Load: 0.3}, o)
			return err
		}
	}
	for _, c := range []struct {
		err  func() error
		want []string
	}{
		{machine(func(m *Machine) { m.Sockets = 0 }), []string{"sockets is 0", "1 to 256"}},
		{machine(func(m *Machine) { m.CoresPerSocket = -1 }), []string{"cores_per_socket is -1", "1 to 1024"}},
		{machine(func(m *Machine) { m.ThreadsPerCore = 9 }), []string{"threads_per_core is 9", "1 to 8"}},
		{machine(func(m *Machine) { m.Sockets, m.CoresPerSocket = 256, 1024 }), []string{"sockets x cores_per_socket x threads_per_core", "1 to 65536"}},
		{machine(func(m *Machine) { m.PStates = nil }), []string{"pstates is empty"}},
		{machine(func(m *Machine) { m.PStates = mega(1000, 900) }), []string{"pstates[1]", "rise"}},
		{machine(func(m *Machine) { m.PStates[0] = math.NaN() }), []string{"pstates[0] is NaN", "10.0 MHz to 20.0 GHz"}},
		{machine(func(m *Machine) { m.Nominal = 5 }), []string{"nominal is 5", "Hz"}},
		{machine(func(m *Machine) { m.Turbo[0].Hz = 1e9 }), []string{"turbo[0].hz", "2.00 GHz to 20.0 GHz"}},
		{machine(func(m *Machine) { m.Turbo[1].Hz = 3e9 }), []string{"turbo[1].hz", "more active cores"}},
		{machine(func(m *Machine) { m.Turbo = m.Turbo[:1] }), []string{"turbo[0].active_cores", "all 2 cores"}},
		{machine(func(m *Machine) { m.Turbo[1].ActiveCores = 7 }), []string{"turbo[1].active_cores is 7", "1 to 2"}},
		{machine(func(m *Machine) { m.SMTRate = 0 }), []string{"smt_rate is 0", "0.1 to 1"}},
		{machine(func(m *Machine) { m.IdleStates[1].ExitLatency = -1 }), []string{"idle_states[1].exit_latency is -1", "0 to 1 s"}},
		{machine(func(m *Machine) { m.IdleStates[2].TargetResidency = 1e-6 }), []string{"idle_states[2].target_residency", "rise"}},
		{machine(func(m *Machine) { m.Domain = "rack" }), []string{`domain is "rack"`, "thread, core or socket"}},
		{machine(func(m *Machine) { m.Fixed = 3 }), []string{"fixed is 3", "Hz"}},
		{machine(func(m *Machine) { m.Power.LowVolts = 0 }), []string{"power.low_volts is 0", "0.3 to 2 V"}},
		{workload(func(w *Workload) { w.Kind = "game" }), []string{`kind is "game"`, "dialog"}},
		{workload(func(w *Workload) { w.Placement = "" }), []string{"placement", "spread, packed or sticky"}},
		{workload(func(w *Workload) { w.Slices = 0 }), []string{"slices is 0", "1 to 10000"}},
		{workload(func(w *Workload) { w.Slice.Mean = 0 }), []string{"slice", "at least 1 us"}},
		{workload(func(w *Workload) { w.Wait.Mean = math.Inf(1) }), []string{"wait", "0 to 86400 s"}},
		{workload(func(w *Workload) { w.Users = -2 }), []string{"users is -2", "0 to 1000000"}},
		{workload(func(w *Workload) { w.Kind, w.Users, w.Work = Batch, 1, 0 }), []string{"work is 0", "0.001 to 1000000 s"}},
		{workload(func(w *Workload) { w.Kind, w.Users = Commit, 1 }), []string{"device", "at least 1 us"}},
		{workload(func(w *Workload) { w.MemoryShare = 1.5 }), []string{"memory_share is 1.5", "0 to 1"}},
		{load(0), []string{"load is 0", "less than 1"}},
		{load(math.NaN()), []string{"load is NaN"}},
		{load(1), []string{"load 1 is too much for", "less than 1", "unstable", "with --users N"}},
		{parse("balanced,PERFCHECK=9s"), []string{"PERFCHECK is 9 s", "0.001 to 5 s"}},
		{parse("balanced,PERFCHECK=15"), []string{"PERFCHECK", "no unit", "15ms"}},
		{parse("balanced,PERFINCPOL=fast"), []string{"PERFINCPOL", "fast"}},
		{parse("balanced,PERFINCPOL=7"), []string{"PERFINCPOL is 7", "ideal, single, rocket"}},
		{parse("balanced,speed=1"), []string{`no parameter "speed"`, "PERFINCTHRESHOLD"}},
		{parse("turbo"), []string{`no policy is called "turbo"`, "balanced-rs1"}},
		{parse("fixed:abc"), []string{"fixed takes a percentage"}},
		{options(Options{Replications: 1}), []string{"replications is 1", "2 to 10000"}},
		{options(Options{Precision: 2}), []string{"precision is 2"}},
		{options(Options{Level: 1}), []string{"level is 1"}},
		{func() error {
			return Case{Machine: plain(1), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("fixed:20"), Load: 0.1}.Validate()
		}, []string{"20 % of nominal", "50 to 100 %"}},
		{func() error {
			return Case{Machine: plain(1), Workload: dialog("20ms", "0s", 1), Policy: testPolicy("balanced,PERFDECTHRESHOLD=95%"), Load: 0.1}.Validate()
		}, []string{"PERFDECTHRESHOLD", "below PERFINCTHRESHOLD"}},
	} {
		err := c.err()
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v: does not say %q in one line", err, w)
			}
		}
	}
}

func TestParsePolicy(t *testing.T) {
	p := testPolicy("balanced, perfcheck=30ms ,PERFDECPOL=single,PERFINCTHRESHOLD=85%")
	if got, want := p.String(), "balanced-rs1,PERFINCTHRESHOLD=85%,PERFDECPOL=single,PERFCHECK=30ms"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if testPolicy("balanced").Parameters[p.index(pCheck)].Value != 0.015 {
		t.Error("a parameter of one policy changed another's")
	}
	for _, name := range PolicyNames() {
		for _, q := range testPolicy(strings.Replace(name, "PERCENT", "57", 1)).Parameters {
			if q.Source == "" || q.Meaning == "" || q.Value < q.Low || q.Value > q.High {
				t.Errorf("%s: %s: source %q, meaning %q, %g of %g to %g", name, q.Name, q.Source, q.Meaning, q.Value, q.Low, q.High)
			}
			if q.Known == (len(q.Alternatives) > 0) && q.Name != pEPP {
				t.Errorf("%s: %s: known %v with alternatives %v", name, q.Name, q.Known, q.Alternatives)
			}
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range append(PolicyNames(), "balanced,PERFCHECK=30ms", "fixed:57", "schedutil,UTIL_EST=off", ",=") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePolicy(s)
		if err != nil {
			return
		}
		q, err := ParsePolicy(p.String())
		if err != nil || q.String() != p.String() {
			t.Errorf("%q became %q, then %q, %v", s, p.String(), q.String(), err)
		}
	})
}

func FuzzParseDist(f *testing.F) {
	for _, s := range []string{"60ms", "exp 60ms", "lognormal 1s cv 0.5", "values 1ms 2ms", "erlang 60ms cv 0.5", "uniform 1us cv 0.2", "0s", "cv"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDist(s)
		if err != nil {
			return
		}
		again, err := ParseDist(d.String())
		if err != nil || math.Abs(again.Mean-d.Mean) > 1e-5*d.Mean || again.Kind != d.Kind {
			t.Errorf("%q became %q, then %+v, %v", s, d.String(), again, err)
		}
	})
}

func TestDistMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"60ms", "exp 60ms", "lognormal 60ms cv 0.5", "erlang 60ms cv 0.5", "uniform 60ms cv 0.5", "values 20ms 100ms"} {
		d := must(ParseDist(text))
		s := d.sampler()
		var sum, squares float64
		const n = 200_000
		for range n {
			v := s.draw(r) / 1e9
			sum += v
			squares += v * v
		}
		mean := sum / n
		cv := math.Sqrt(max(0, squares/n/(mean*mean)-1))
		want := map[DistKind]float64{DistFixed: 0, DistExponential: 1, DistEmpirical: 2.0 / 3}
		if w, ok := want[d.Kind]; ok {
			d.CV = w
		}
		if math.Abs(mean-0.06) > 0.0006 || math.Abs(cv-d.CV) > 0.02 {
			t.Errorf("%s: mean %v, cv %v, want 0.06 and %v", text, mean, cv, d.CV)
		}
	}
}

// The rules, an interval at a time: utilisations in, P-states out (of 50 to 100 % in
// steps of 10 %).
func TestRules(t *testing.T) {
	m := plain(1)
	m.PStates = mega(1000, 1200, 1400, 1600, 1800, 2000)
	for _, c := range []struct {
		policy string
		busy   []float64
		want   []int
	}{
		{"balanced-rs1", []float64{1, 1, 1, 1, 1, 1, 0.85, 1, 1, 1, 0.5}, []int{0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 0}},
		{"balanced-rs1,PERFDECPOL=single,PERFDECTIME=2", []float64{1, 1, 1, 0.1, 0.1, 0.1}, []int{0, 0, 1, 1, 0, 0}},
		{"balanced-rs1,PERFINCPOL=rocket", []float64{0.9, 0.9, 0.9}, []int{0, 0, 5}},
		{"balanced-rs2", []float64{0.5, 0.7, 1, 1, 0.1}, []int{0, 1, 5, 5, 0}},
		{"balanced-rs2,PERFDECPOL=ideal", []float64{1, 1, 0.35}, []int{4, 5, 1}},
		{"ondemand", []float64{0, 0.5, 0.8, 0.81, 0.2}, []int{0, 2, 4, 5, 1}},
		{"conservative", []float64{1, 1, 0.5, 1, 1, 0.1, 0.1}, []int{0, 1, 1, 1, 2, 2, 1}},
		{"intel_pstate", []float64{0.5, 1, 0, 0}, []int{1, 5, 0, 0}},
	} {
		g := must(compileGovernor(testPolicy(c.policy), m))
		var s sampled
		state, got := g.floor, []int(nil)
		for _, u := range c.busy {
			state = g.check(&s, m.PStates, u, state)
			got = append(got, state)
		}
		testkit.Is(t, "", cmp.Diff(c.want, got), c.policy, "at", c.busy, "-want +got)")
	}
}

func TestSearches(t *testing.T) {
	ctx := context.Background()
	base := testPolicy("high-performance")
	c := Case{Machine: plain(8), Workload: dialog("exp 60ms", "exp 40ms", 3), Policy: testPolicy("balanced"), Load: 0.1}
	o := Options{Seed: 5, Replications: 8, Events: 300_000, Precision: 0.08}
	found := testkit.Must(Sensitivity(ctx, c, base, StepTime, nil, o))(t)
	var names []string
	for i, f := range found {
		names = append(names, f.Parameter)
		if i > 0 && f.Range > found[i-1].Range {
			t.Errorf("%s ranks below %s but moves the answer more", f.Parameter, found[i-1].Parameter)
		}
		if len(f.Settings) < 2 || f.Settings[0].Ratio.Value < 1.2 {
			t.Errorf("%s: %+v", f.Parameter, f.Settings)
		}
	}
	slices.Sort(names)
	want := []string{"PERFCHECK", "PERFDECPOL", "PERFDECTIME", "PROCTHROTTLEMAX", "PROCTHROTTLEMIN", "domain", "utilisation_reference"}
	testkit.Same(t, want, names, "parameters")

	v, err := LoadWhereEffectVanishes(ctx, c, base, CPUSeconds, 1.05, o)
	if err != nil || !v.Found || v.Everywhere || v.Load < 0.7 || v.Load > 0.95 {
		t.Errorf("the effect of Balanced vanishes at %+v, %v", v, err)
	}
	for i, p := range v.Points {
		if i > 0 && p.Load <= v.Points[i-1].Load || p.Load >= v.Load && p.Ratio.High >= 1.05 {
			t.Errorf("point %d: %+v of %v", i, p, v.Load)
		}
	}
	c.Policy = base
	if v, err := LoadWhereEffectVanishes(ctx, c, base, CPUSeconds, 1.05, o); err != nil || !v.Everywhere {
		t.Errorf("no effect at all: %+v, %v", v, err)
	}

	// Policies of the hardware become two rows, one above the other.
	k, err := Compare(ctx, c, base, []Policy{testPolicy("hwp"), testPolicy("power-saver")}, o)
	if err != nil || len(k.Rows) != 3 || k.Rows[0].Bound != AtLowestHertz || k.Rows[1].Bound != AtTopHertz || k.Rows[2].Bound != Exact ||
		math.Abs(k.Rows[0].Ratio[CPUSeconds].Value-2) > 1e-6 || k.Rows[1].Ratio[CPUSeconds].Value != 1 {
		t.Errorf("bounds: %+v, %v", k.Rows, err)
	}
	// One that cannot carry the load is a row that says so.
	c.Load = 0.9
	k, err = Compare(ctx, c, base, []Policy{testPolicy("power-saver")}, o)
	if err != nil || !strings.Contains(k.Rows[0].Refused, "carries less") || len(k.Rows[0].Responses) != 0 {
		t.Errorf("above its cap: %+v, %v", k.Rows, err)
	}
}

// A case that a search chose and that cannot be, has no ratio and says why; the others are compared.
func TestSearchesPassOverWhatCannotBe(t *testing.T) {
	ctx := context.Background()
	c := Case{Machine: plain(4), Workload: dialog("exp 60ms", "exp 40ms", 3), Load: 0.1}
	o := Options{Seed: 5, Replications: 2, Steps: 50}
	lowest := Influence{Parameter: "lowest of pstates"}
	for _, share := range []float64{0.5, 0.8} {
		m := c.Machine
		m.PStates = []float64{share * m.Nominal, m.Nominal}
		lowest.Try(fmt.Sprint(share), m)
	}
	for _, q := range []struct{ policy, baseline string }{
		{"fixed:57%", "performance"}, {"performance", "fixed:57%"}, {"fixed:57%", "fixed:60%"}, {"performance", "powersave"},
		{"balanced,PERFINCTHRESHOLD=81%", "high-performance"}, {"conservative,up_threshold=21%", "performance"},
	} {
		c.Policy = testPolicy(q.policy)
		found, err := Sensitivity(ctx, c, testPolicy(q.baseline), CPUSeconds, []Influence{lowest}, o)
		if err != nil {
			t.Errorf("%s: %v", q, err)
		}
		fixed := strings.Contains(q.policy+q.baseline, "fixed")
		for _, f := range found {
			for _, s := range f.Settings {
				if none := fixed && s.Value == "0.8"; s.Ratio.Known() == none || none && !strings.Contains(s.Note, "this machine runs at 80 to 100 %") ||
					math.IsInf(f.Range, 0) {
					t.Errorf("%s, %s %s: %s, %q, range %g", q, f.Parameter, s.Value, s.Ratio.Text(), s.Note, f.Range)
				}
			}
		}
		v, err := LoadWhereEffectVanishes(ctx, c, testPolicy(q.baseline), CPUSeconds, 1.05, o)
		if err != nil || len(v.Points) == 0 {
			t.Errorf("%s: %+v, %v", q, v, err)
		}
	}
}
