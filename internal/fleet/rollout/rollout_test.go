package rollout

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/testkit"
)

var begin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// planned is a plan of hosts of two kinds of hardware.
func planned(hosts, waves int, seed uint64) *Plan {
	var list []Candidate
	for i := range hosts {
		list = append(list, Candidate{fmt.Sprintf("db%02d", i), []string{"old", "new"}[i*2/hosts], check.ProductionDB})
	}
	p := &Plan{Schema: Schema, Kind: Kind, Created: begin, Seed: seed, Set: []string{"governor=performance"},
		Measure: Measure{"commit.overwritten.mean", "s", "lower"}}
	p.Strata, p.Waves = Draw(list, waves, seed)
	p.Gates = p.gates()
	return p
}

// simulated plays a plan up to a wave. A load that drifts moves all hosts, those of one hardware more than the others;
// a host with the change is slower by effect.
func simulated(p *Plan, upTo int, effect float64, rng *rand.Rand) *Course {
	values, verified := map[string][]Sample{}, map[string]Verified{}
	wave, load := p.waveOf(), 0.0
	own := map[string]float64{}
	for w := 0; w <= upTo; w++ {
		load += 0.1 * rng.NormFloat64()
		at := begin.Add(time.Duration(w) * time.Hour)
		for s, stratum := range p.Strata {
			for _, h := range stratum.Hosts {
				if w == 0 {
					own[h] = 0.1 * rng.NormFloat64()
				}
				v := math.Log(300e-6) + own[h] + load*float64(1+s) + 0.02*rng.NormFloat64()
				if w > 0 && wave[h] <= w {
					v += math.Log1p(effect)
				}
				if wave[h] == w {
					verified[h] = Verified{At: []time.Time{at}, Set: []Set{{Object: "governor/policy0", Status: check.OK, Since: at}}}
				}
				values[h] = append(values[h], Sample{at.Add(30 * time.Minute), math.Exp(v)})
			}
		}
	}
	return Follow(p, verified, values)
}

// A roll-out without an effect says harm in 5 % at most, at all its gates together, while the load drifts by tens of
// per cent.
func TestNoEffectIsNoHarm(t *testing.T) {
	const trials = 1000
	rng := rand.New(rand.NewPCG(1, 1))
	harm, found := 0, 0
	for i := range trials {
		if harms(t, planned(10, 3, uint64(i+1)), 0, rng) {
			harm++
		}
		if i%10 == 0 && harms(t, planned(10, 3, uint64(i+1)), 0.1, rng) {
			found++
		}
	}
	t.Logf("harm without an effect: %d of %d; +10 %% found: %d of %d", harm, trials, found, trials/10)
	if harm > trials/20 || harm == 0 {
		t.Errorf("harm in %d of %d roll-outs without an effect", harm, trials)
	}
	if found < 95*trials/1000 {
		t.Errorf("+10 %% is found in %d of %d", found, trials/10)
	}
}

func harms(t *testing.T, p *Plan, effect float64, rng *rand.Rand) bool {
	t.Helper()
	for w := 1; w < len(p.Waves); w++ {
		j := testkit.Must(simulated(p, w, effect, rng).Gate(w, UnlessHarm))(t)
		if j.Verdict == Harm {
			return true
		}
	}
	return false
}

// Waves are drawn by the seed alone, differ by a host at most within a stratum, and hold each host once.
func TestDraw(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(30) {
		p := planned(11, 3, seed)
		if again := planned(11, 3, seed); fmt.Sprint(again.Waves) != fmt.Sprint(p.Waves) {
			t.Fatal("a seed draws two orders")
		}
		seen[fmt.Sprint(p.Waves)] = true
		wave := p.waveOf()
		testkit.Is(t, 11, len(wave), "hosts are in waves")
		for _, s := range p.Strata {
			n := [3]int{}
			for _, h := range s.Hosts {
				n[wave[h]-1]++
			}
			if max(n[0], n[1], n[2])-min(n[0], n[1], n[2]) > 1 {
				t.Errorf("a stratum's waves have %v hosts", n)
			}
		}
	}
	if len(seen) < 29 {
		t.Errorf("30 seeds draw %d orders", len(seen))
	}
}

// What a plan says that it can show: 4 hosts in 2 waves nothing, since p stays at 1/6 or above.
func TestForesee(t *testing.T) {
	var four []Candidate
	for i := range 4 {
		four = append(four, Candidate{fmt.Sprint("db", i), "one", check.ProductionDB})
	}
	p := planned(4, 2, 1)
	p.Strata, p.Waves = Draw(four, 2, 1)
	p.Foresee(0.02, 1)
	if g := p.Gates[0]; g.Orders != 6 || g.LeastP != 1.0/6 || g.Alpha != 0 || g.Smallest != nil {
		t.Errorf("4 in 2: %+v", g)
	}
	p.Strata, p.Waves = Draw(four, 4, 1)
	p.Foresee(0.02, 1)
	if g := p.Gates; g[2].Orders != 24 || g[2].Alpha != risk || g[0].Alpha != 0 || g[1].Alpha != 0 ||
		g[2].Smallest == nil {
		t.Errorf("4 in 4: %+v", g)
	}
	large := planned(40, 4, 1)
	large.Foresee(0.02, 1)
	total := 0.0
	for _, g := range large.Gates {
		total += g.Alpha
		if g.Smallest == nil || *g.Smallest <= 0 || *g.Smallest > 0.05 {
			t.Errorf("40 in 4: %+v", g)
		}
	}
	if math.Abs(total-risk) > 1e-9 {
		t.Errorf("gates risk %g together", total)
	}
	if large.Foresee(math.NaN(), 1); large.Gates[0].Smallest != nil {
		t.Error("an unknown scatter shows an effect")
	}
}

// A plan that was edited is refused.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Plan)
		want string
	}{
		"as drawn": {func(*Plan) {}, ""},
		"two waves": {func(p *Plan) { p.Waves[1].Hosts = append(p.Waves[1].Hosts, p.Waves[0].Hosts[0]) },
			"is in wave 1 and in wave 2"},
		"swapped": {func(p *Plan) {
			a, b := p.Waves[0].Hosts, p.Waves[1].Hosts
			a[0], b[0] = b[0], a[0]
		}, "were edited"},
		"another schema": {func(p *Plan) { p.Schema = 2 }, "schema 2"},
		"another role":   {func(p *Plan) { p.Role = "x; reboot" }, "does not know its role"},
		"no plan":        {func(p *Plan) { p.Kind = "" }, "not a roll-out plan"},
		"no gates":       {func(p *Plan) { p.Gates = nil }, "missing"},
		"one wave":       {func(p *Plan) { p.Waves = p.Waves[:1] }, "missing"},
	} {
		p := planned(8, 2, 5)
		c.edit(p)
		data := testkit.Must(json.Marshal(p))(t)
		_, err := Read(data)
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil &&
			(c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A gate goes on only where every host of the wave has the change and was measured since.
func TestGateWaits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	judge := func(wave int, policy Policy, edit func(c *Course)) *Judged {
		t.Helper()
		c := simulated(planned(12, 3, 3), wave, 0, rng)
		edit(c)
		return testkit.Must(c.Gate(wave, policy))(t)
	}
	first := func(c *Course) *Host { return c.wave(1)[0] }
	for name, c := range map[string]struct {
		edit func(*Course)
		goes bool
		want string
	}{
		"all is there": {func(*Course) {}, true, ""},
		"not set": {func(c *Course) { first(c).Applied, first(c).State = nil, Waiting }, false,
			"no document of verify shows"},
		"not measured":  {func(c *Course) { first(c).samples = first(c).samples[:1] }, false, "not measured since"},
		"put back":      {func(c *Course) { first(c).State = Reverted }, false, "no longer in force"},
		"a later wave":  {func(c *Course) { c.wave(3)[0].Applied = &begin }, false, "a later wave"},
		"control quiet": {func(c *Course) { h := c.wave(3)[0]; h.samples = h.samples[:1] }, true, ""},
	} {
		j := judge(1, UnlessHarm, c.edit)
		if j.Go != c.goes || !strings.Contains(strings.Join(j.Reasons, "; "), c.want) {
			t.Errorf("%s: go %t, %q", name, j.Go, j.Reasons)
		}
	}
	if j := judge(1, OnlyIfBetter, func(*Course) {}); j.Go {
		t.Error("it goes on with nothing better")
	}
	if j := judge(3, UnlessHarm, func(*Course) {}); !j.Go || j.Periods != 2 {
		t.Errorf("after the last wave: %+v", j)
	}
}

func TestStatusNamesWhatWasPutBack(t *testing.T) {
	for wave := 1; wave <= 3; wave++ {
		c := simulated(planned(12, 3, 3), wave, 0, rand.New(rand.NewPCG(9, 9)))
		var names []string
		for _, h := range c.wave(wave) {
			h.State = Reverted
			names = append(names, h.Name)
		}
		d := c.Status(Typed{Plan: "plan.json"})
		want := fmt.Sprintf("%d of 3 waves are done. Wave %d: 0 of %d hosts have the change. It was put back on %s.",
			wave-1, wave, len(names), strings.Join(names, ", "))
		testkit.Is(t, want, d.Answer[0].Text, "the answer is")
		next, _ := d.Sections[len(d.Sections)-1].Blocks[0].(document.Commands)
		if len(next) != 1 || next[0].Line != fmt.Sprintf("hostlab fleet rollout gate plan.json --wave %d", wave) {
			t.Errorf("wave %d: next are %+v", wave, next)
		}
	}
}
