package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/testkit"
)

func ran(host, study string, effect, half float64) Ran {
	return Ran{Host: host, Stratum: "s", Hash: "abc",
		Effect: Effect{Study: "live-governor", StudyHash: study, Contrast: "governor: performance against powersave",
			Response: "cpu",
			Compare:  "ratio", Better: "lower", Value: ptr(effect), Low: ptr(effect - half), High: ptr(effect + half),
			Alpha: ptr(0.05), N: 20, Margin: ptr(0.01), Noise: ptr(0.005)}}
}

// A mean that is sure is no promise for the next host: only its own interval is.
func TestPoolStudies(t *testing.T) {
	var alike, apart []Ran
	for i, v := range []float64{-0.05, -0.051, -0.049, -0.052, -0.05, -0.048} {
		host := string(rune('a' + i))
		alike = append(alike, ran(host, "1", v, 0.004))
		apart = append(apart, ran(host, "1", v+0.03*float64(i%3)-0.03, 0.004))
	}
	p := PoolStudies(alike)
	if len(p) != 1 || p[0].Verdict != "worthwhile" || p[0].K != 6 || *p[0].NextHigh >= -0.01 {
		t.Errorf("%+v", p[0])
	}
	testkit.Has(t, p[0].sentence(), "It is beyond the margin on 6 of 6 hosts, so perhaps on up to 100 % of hosts like these.")
	var none []Ran
	for i := range 8 {
		none = append(none, ran(string(rune('a'+i)), "1", 0.0001*float64(i%3), 0.002))
	}
	if p := PoolStudies(none)[0]; p.Verdict != "no_effect" ||
		!strings.Contains(p.sentence(), "It is beyond the margin on 0 of 8 hosts, so perhaps on up to 37 %") {
		t.Errorf("%s: %s", p.Verdict, p.sentence())
	}
	if p := PoolStudies(apart); p[0].Verdict != "undecided" || *p[0].High >= -0.01 {
		t.Errorf("hosts that differ: %s, mean at most %v", p[0].Verdict, *p[0].High)
	}
	if p := PoolStudies(alike[:2]); p[0].Verdict != "too_few" || p[0].Mean != nil {
		t.Errorf("%+v", p[0])
	}
}

// An effect without an interval is listed and does not count; a later experiment of a host takes the place of an
// earlier one; another version of the study, and other hardware, are pooled apart.
func TestPoolKeepsApart(t *testing.T) {
	list := []Ran{ran("a", "1", -0.05, 0.01), ran("b", "1", -0.05, 0.01), ran("c", "1", -0.05, 0.01),
		ran("d", "2", -0.05, 0.01)}
	bare := ran("e", "1", -0.5, 0.01)
	bare.Low, bare.High = nil, nil
	other := ran("f", "1", 0.5, 0.01)
	other.Stratum = "t"
	again := ran("a", "1", -0.06, 0.01)
	p := PoolStudies(append(list, bare, other, again))
	if len(p) != 3 || p[0].K != 3 || len(p[0].Void) != 1 || p[0].Void[0].Why == "" {
		t.Fatalf("%d pools, %+v", len(p), p[0])
	}
	for _, h := range p[0].Hosts {
		if h.Host == "a" && *h.Effect != -0.06 {
			t.Errorf("the earlier experiment of a counts: %v", *h.Effect)
		}
	}
}

type simulatedHost struct {
	Compared
	measured map[string]Measurement
}

func outliers(hosts []simulatedHost) ([]Outlier, int) {
	var list []Compared
	for _, h := range hosts {
		list = append(list, h.Compared)
	}
	p := NewPeers(list)
	for _, name := range simulatedNames {
		for _, h := range hosts {
			m := h.measured[name]
			m.Name = name
			p.Add(h.Name, m)
		}
	}
	return p.Outliers()
}

var simulatedNames = []string{"commit", "throughput", "latency", "speedup", "clock", "locks"}

// simulated is a fleet of equal hosts that differ by 1 % from each other (standard deviation), of which some have twice
// as much in one measurement.
func simulated(rng *rand.Rand, k, apart int) (hosts []simulatedHost) {
	const between, within = 0.01, 0.005
	for i := range k {
		h := simulatedHost{Compared{Name: fmt.Sprint("h", i), Stratum: "s", Role: check.ProductionDB},
			map[string]Measurement{}}
		for j, name := range simulatedNames {
			v := math.Exp(between*rng.NormFloat64() + within*rng.NormFloat64())
			if i < apart && j == i%len(simulatedNames) {
				v *= 2
			}
			h.measured[name] = measured(v, v*(1-2*within), v*(1+2*within), 0.01)
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// In 2,000 fleets, false ones among the outliers named are at most one in twenty, and of hosts that have twice as much
// nine in ten are named.
func TestOutliersOfSimulatedFleets(t *testing.T) {
	const fleets = 2000
	for _, k := range []int{12, 30} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		named, planted, sum := 0, 0, 0.0
		for range fleets {
			apart := 1 + rng.IntN(2)
			found, groups := outliers(simulated(rng, k, apart))
			if groups != 1 {
				t.Fatalf("%d groups", groups)
			}
			wrong := 0
			is := map[string]bool{}
			for _, o := range found {
				i := testkit.Must(strconv.Atoi(o.Host[1:]))(t)
				if i >= apart || o.Ratio < 1.03 {
					wrong++
				} else {
					is[o.Host] = true
				}
			}
			named, planted = named+len(is), planted+apart
			if len(found) > 0 {
				sum += float64(wrong) / float64(len(found))
			}
		}
		rate, power := sum/fleets, float64(named)/float64(planted)
		t.Logf("K %d: false discoveries %.3f, found %.3f of %d", k, rate, power, planted)
		if rate > 0.05 || power < 0.9 {
			t.Errorf("K %d: false discoveries %.3f, found %.3f of %d", k, rate, power, planted)
		}
	}
	// Without outliers, few fleets have one named.
	rng, with := rand.New(rand.NewPCG(2, 2)), 0
	for range fleets {
		if found, _ := outliers(simulated(rng, 12, 0)); len(found) > 0 {
			with++
		}
	}
	t.Logf("none planted: one is named in %d of %d fleets", with, fleets)
	if with > fleets*6/100 {
		t.Errorf("none planted: one is named in %d of %d fleets", with, fleets)
	}
}

func TestOutliersNeedPeers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	if found, groups := outliers(simulated(rng, 7, 1)); groups != 0 || found != nil {
		t.Errorf("%d groups of seven, %v", groups, found)
	}
	hosts := simulated(rng, 12, 0)
	hosts[3].Stratum = "other"
	hosts[3].measured["commit"] = measured(9, 8.9, 9.1, 0.01)
	if found, _ := outliers(hosts); len(found) > 0 {
		t.Errorf("a host of other hardware is compared: %v", found)
	}
}

func TestTraits(t *testing.T) {
	fact := func(v string) map[string]Value { return map[string]Value{"a": {v, "", "ok"}, "same": {"1", "", "ok"}} }
	peers := []map[string]Value{fact("x"), fact("x"), fact("x"), fact("y")}
	if got := Traits(fact("z"), peers); len(got) != 1 || got[0] != (Trait{"a", "z", "x", 75}) {
		t.Errorf("%v", got)
	}
	if got := Traits(fact("x"), peers); got != nil {
		t.Errorf("%v", got)
	}
}

func TestStratum(t *testing.T) {
	facts := func(total string) map[string]Value {
		return map[string]Value{"identity.cpu_model": {"EPYC", "", "ok"}, "topology.threads": {"64", "", "ok"},
			"memory.total": {total, "B", "ok"}}
	}
	if a, b := Stratum(facts("540000000000")), Stratum(facts("541165432832")); a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := Stratum(facts("540000000000")), Stratum(facts("270000000000")); a == b {
		t.Errorf("%q twice", a)
	}
	testkit.Is(t, "", Stratum(map[string]Value{"topology.threads": {"64", "", "ok"}}), "a processor that is not known")
}

func TestConditions(t *testing.T) {
	v := Value{"60", "", "ok"}
	for text, want := range map[string]bool{"memory.swappiness=60": true, "a=60.0": true, "a!=60": false, "a!=10": true,
		"a<61": true, "a<60": false, "a<=60": true, "a>59": true, "a>=60.5": false, "a=sixty": false} {
		c, err := ParseCondition(text)
		if err != nil || c.Holds(v, true) != want {
			t.Errorf("%s: %v, %v", text, c.Holds(v, true), err)
		}
		if c.Holds(v, false) || c.Holds(Value{State: "denied"}, true) {
			t.Errorf("%s holds for what is not known", text)
		}
	}
	for _, text := range []string{"", "60", "a", "a<b", "=3", "a~3"} {
		if c, err := ParseCondition(text); err == nil {
			t.Errorf("%q is %+v", text, c)
		}
	}
}
