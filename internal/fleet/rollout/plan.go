// Package rollout plans a change of many hosts in waves, and judges it between waves. Waves are drawn at random among
// hosts of equal hardware and role, so that chance alone decides which host has the change first. That makes the
// comparison of hosts with and without it a fair one, whatever the load does meanwhile.
package rollout

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/stats"
)

// Schema is the version of a plan and of what is said of it.
const Schema = 1

// Kind tells a plan from other documents.
const Kind = "rollout-plan"

const (
	risk   = 0.05 // of all gates together, that a change without an effect is called harm
	margin = 0.05 // harm that an undecided gate does not pass over
	power  = 0.8  // with which the effect is found that a plan calls the smallest
)

// History is how far back of a plan the values go that hosts are compared with.
const History = 30 * 24 * time.Hour

// Plan is a roll-out: which hosts get a change when, and what judges it.
type Plan struct {
	Kind    string     `json:"kind"`
	Schema  int        `json:"schema"`
	Version string     `json:"version"`
	Created time.Time  `json:"created"`
	Seed    uint64     `json:"seed"`
	Role    check.Role `json:"role,omitempty"`
	Set     []string   `json:"set"` // as typed for set: governor=performance
	Measure Measure    `json:"measure"`
	Waves   []Wave     `json:"waves"`
	Strata  []Stratum  `json:"strata"`
	Gates   []Gate     `json:"gates"`
	LeftOut []LeftOut  `json:"left_out"`
}

// Wave is the hosts that get the change together.
type Wave struct {
	Wave  int      `json:"wave"` // from 1 on
	Hosts []string `json:"hosts"`
}

// Stratum is hosts of equal hardware and role, among which waves are drawn.
type Stratum struct {
	Hardware string     `json:"hardware"` // "": not known
	Role     check.Role `json:"role"`
	Hosts    []string   `json:"hosts"` // by name
}

// Measure is what is compared.
type Measure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"` // lower or higher
}

// Gate is what the comparison after a wave can show.
type Gate struct {
	Wave   int     `json:"wave"`
	Orders float64 `json:"orders"`  // in which hosts could have been drawn
	LeastP float64 `json:"least_p"` // below which p cannot fall
	Alpha  float64 `json:"alpha"`   // p up to which it says harm; 0: it never can
	// Smallest is the harm that it finds four times in five, as a share; null: none, or not known.
	Smallest *float64 `json:"smallest"`
}

// LeftOut is a host with an exception for what is set.
type LeftOut struct {
	Host   string `json:"host"`
	Check  string `json:"check"`
	Reason string `json:"reason"`
	Until  string `json:"until"`
}

// Candidate is a host that may take part.
type Candidate struct {
	Name, Hardware string
	Role           check.Role
}

// Draw draws hosts into waves. Each stratum is shuffled, and dealt from the wave on at which the one before ended, so
// that waves differ by one host at most, in a stratum and in all.
func Draw(hosts []Candidate, waves int, seed uint64) (strata []Stratum, drawn []Wave) {
	for _, h := range hosts {
		i := slices.IndexFunc(strata, func(s Stratum) bool { return s.Hardware == h.Hardware && s.Role == h.Role })
		if i < 0 {
			i, strata = len(strata), append(strata, Stratum{Hardware: h.Hardware, Role: h.Role})
		}
		strata[i].Hosts = append(strata[i].Hosts, h.Name)
	}
	slices.SortStableFunc(strata, func(a, b Stratum) int {
		return cmp.Or(cmp.Compare(a.Hardware, b.Hardware), cmp.Compare(a.Role, b.Role))
	})
	for _, s := range strata {
		slices.Sort(s.Hosts)
	}
	return strata, deal(strata, waves, seed)
}

func deal(strata []Stratum, waves int, seed uint64) []Wave {
	out := make([]Wave, waves)
	for w := range out {
		out[w] = Wave{w + 1, []string{}}
	}
	rng, next := rand.New(rand.NewPCG(seed, uint64(waves))), 0 //nolint:gosec // an experiment's order is no secret
	for _, s := range strata {
		hosts := slices.Clone(s.Hosts)
		rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		for _, h := range hosts {
			out[next%waves].Hosts = append(out[next%waves].Hosts, h)
			next++
		}
	}
	for w := range out {
		slices.Sort(out[w].Hosts)
	}
	return out
}

// Foresee says what each gate can show. scatter is that of a host's values around what moves all hosts, as a share;
// NaN: not known. before is how many earlier values a host has.
func (p *Plan) Foresee(scatter float64, before int) {
	units := p.units()
	rng := rand.New(rand.NewPCG(p.Seed, 1)) //nolint:gosec // as above
	p.Gates = p.gates()
	for i := range p.Gates {
		g := &p.Gates[i]
		if g.Alpha == 0 || math.IsNaN(scatter) {
			continue
		}
		least := stats.Showable(periods(units, g.Wave), g.Alpha, math.Log1p(scatter), power, max(1, before), rng)
		if share := math.Expm1(least); !math.IsInf(share, 0) {
			g.Smallest = &share
		}
	}
}

// gates divides the risk among those gates that can say harm at all.
func (p *Plan) gates() []Gate {
	units := p.units()
	out, able := make([]Gate, len(p.Waves)-1), 0
	for i := range out {
		n := stats.Orders(periods(units, i+1))
		out[i] = Gate{Wave: i + 1, Orders: n, LeastP: 1 / n}
		able++
	}
	for again := true; again && able > 0; {
		again = false
		share := risk / float64(able)
		for i := range out {
			out[i].Alpha = 0
			if out[i].LeastP <= share*(1+1e-9) {
				out[i].Alpha = share
			}
		}
		still := 0
		for _, g := range out {
			if g.Alpha > 0 {
				still++
			}
		}
		if still == 0 && able > 1 { // fewer gates have larger shares each; the last sees most orders
			still, again = able-1, true
		} else if still != able {
			again = true
		}
		able = still
	}
	return out
}

// units are the hosts of a plan without values.
func (p *Plan) units() (list []stats.Unit) {
	wave := p.waveOf()
	for i, s := range p.Strata {
		for _, h := range s.Hosts {
			list = append(list, stats.Unit{Stratum: i, Wave: wave[h]})
		}
	}
	return list
}

// periods gives units so many periods.
func periods(units []stats.Unit, n int) []stats.Unit {
	out := slices.Clone(units)
	for i := range out {
		out[i].After = make([]float64, n)
	}
	return out
}

func (p *Plan) waveOf() map[string]int {
	out := map[string]int{}
	for _, w := range p.Waves {
		for _, h := range w.Hosts {
			out[h] = w.Wave
		}
	}
	return out
}

// Hosts are all of a plan, by stratum and name.
func (p *Plan) Hosts() (names []string) {
	for _, s := range p.Strata {
		names = append(names, s.Hosts...)
	}
	return names
}

// Change is what is set, in words.
func (p *Plan) Change() string {
	if p.Role != "" {
		return strings.TrimSpace("what is advised for " + string(p.Role) + " " + strings.Join(p.Set, " "))
	}
	return strings.Join(p.Set, " ")
}

// Read reads a plan and refuses one that is not as it was drawn: an order that a person chose proves nothing.
func Read(data []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(data, p); err != nil || p.Kind != Kind {
		return nil, errors.New("not a roll-out plan; 'hostlab fleet rollout plan' makes one")
	}
	if p.Schema != Schema {
		return nil, fmt.Errorf("the plan has schema %d, but this hostlab reads %d", p.Schema, Schema)
	}
	seen := map[string]int{}
	for _, w := range p.Waves {
		for _, h := range w.Hosts {
			if first := seen[h]; first > 0 {
				return nil, fmt.Errorf("%s is in wave %d and in wave %d; make a new plan", h, first, w.Wave)
			}
			seen[h] = w.Wave
		}
	}
	if len(p.Waves) < 2 || len(p.Waves) > maxWaves || len(p.Gates) != len(p.Waves)-1 || p.Measure.Better != "lower" &&
		p.Measure.Better != "higher" || p.Created.IsZero() {
		return nil, errors.New("parts of it are missing; make a new plan")
	}
	if p.Role != "" && !slices.Contains(check.Roles, p.Role) { // it becomes a flag of commands that are shown
		return nil, errors.New("hostlab does not know its role; make a new plan")
	}
	same := slices.EqualFunc(deal(p.Strata, len(p.Waves), p.Seed), p.Waves,
		func(a, b Wave) bool { return a.Wave == b.Wave && slices.Equal(a.Hosts, b.Hosts) })
	if !same {
		return nil, fmt.Errorf("its waves were edited: seed %d draws others, so its gates would prove nothing; make a new "+
			"plan", p.Seed)
	}
	return p, nil
}

// maxWaves bounds a plan: each takes a measurement of all hosts.
const maxWaves = 50

// Waves says in an error what is wrong with a number of waves for so many hosts.
func Waves(waves, hosts int) error {
	switch {
	case waves < 2:
		return errors.New("expected 2 or more: with 1 wave, no host without the change is left to compare with")
	case waves > maxWaves:
		return fmt.Errorf("expected at most %d", maxWaves)
	case waves > hosts:
		return fmt.Errorf("only %d hosts take part", hosts)
	}
	return nil
}
