package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

// Compare simulates c under each policy and under baseline with common random
// numbers: the same arrivals and the same work in each replication. A policy with
// Bounds gives two rows. c.Policy is ignored. A policy that cannot carry the load
// is a row that is Refused, with no responses; the baseline must carry it.
func Compare(ctx context.Context, c Case, baseline Policy, policies []Policy, o Options) (Comparison, error) {
	all, err := CompareAll(ctx, []Case{c}, baseline, policies, o)
	if err != nil {
		return Comparison{}, err
	}
	return all[0], nil
}

// CompareAll is Compare of several cases, all in parallel. Without policies each case has
// its own.
func CompareAll(ctx context.Context, cases []Case, baseline Policy, policies []Policy,
	o Options) ([]Comparison, error) {
	out, refused, err := compareEach(ctx, cases, baseline, policies, o)
	for _, no := range refused {
		err = cmp.Or(err, no)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// compareEach is CompareAll for cases that a search chose: one of them may be none, as a policy that has no use on a
// machine with another lowest frequency. Refused says why, and the others are compared.
func compareEach(ctx context.Context, cases []Case, baseline Policy, policies []Policy, o Options) (out []Comparison,
	refused []error, err error) {
	o = o.withDefaults()
	if baseline.Bounds {
		return nil, nil, fmt.Errorf("policy %s: it can only be bounded, so nothing can be compared with it", baseline.Name)
	}
	out, refused = make([]Comparison, len(cases)), make([]error, len(cases))
	var groups [][]Case
	var of []int // cases
	for i, c := range cases {
		var group []Case
		own := policies
		if own == nil {
			own = []Policy{c.Policy}
		}
		// Invalid ones are an error; those that are only unstable stay, to become a row that says so.
		for k, p := range append([]Policy{baseline}, expand(own)...) {
			c.Policy = p
			var unstable *UnstableError
			if err := c.Validate(); err != nil && (k == 0 || !errors.As(err, &unstable)) {
				refused[i] = err
				break
			}
			group = append(group, c)
		}
		if refused[i] == nil {
			groups, of = append(groups, group), append(of, i)
		}
	}
	runs, err := simulateGroups(ctx, groups, o)
	if err != nil {
		return nil, nil, err
	}
	for g, group := range runs {
		i := of[g]
		if refused[i] = group[0].err; refused[i] != nil {
			continue
		}
		base := outcome(group[0], o)
		out[i] = Comparison{Case: group[0].c, Baseline: compared(base, base, o)}
		for _, r := range group[1:] {
			out[i].Rows = append(out[i].Rows, compared(outcome(r, o), base, o))
		}
	}
	return out, refused, nil
}

// AtLoads are copies of a case at several loads.
func (c Case) AtLoads(loads []float64) (out []Case) {
	for _, c.Load = range loads {
		out = append(out, c)
	}
	return out
}

// expand puts the two bounds in place of policies that have only those.
func expand(policies []Policy) (out []Policy) {
	for _, p := range policies {
		if !p.Bounds {
			out = append(out, p)
			continue
		}
		p.Bounds = false
		p.rule, p.bound = ruleFloor, AtLowestHertz
		out = append(out, p)
		p.rule, p.bound = ruleTop, AtTopHertz
		out = append(out, p)
	}
	return out
}

func compared(x, base Outcome, o Options) Row {
	row := Row{Outcome: x, Ratio: map[Response]result.Estimate{}}
	for r, v := range x.samples {
		if b, ok := base.samples[r]; ok {
			row.Ratio[r] = pairedRatio(v, b, o.Level)
		}
	}
	return row
}

// Sensitivity varies each unknown one at a time: the frequency domain's scope, the
// parameters of c.Policy that are not Known, and others of the machine, with settings by Try.
// It returns the range of the ratio of response to baseline's for each, largest first.
func Sensitivity(ctx context.Context, c Case, baseline Policy, r Response, others []Influence,
	o Options) ([]Influence, error) {
	if c.Policy.Bounds {
		return nil, fmt.Errorf("policy %s: the hardware chooses the frequency; there is no parameter to vary", c.Policy.Name)
	}
	domain := Influence{Parameter: "domain", Source: "the machine: which CPUs share one frequency"}
	for i, s := range append([]Scope{c.Machine.Domain}, Scopes()...) {
		if i > 0 && (s == c.Machine.Domain || s == PerCore && c.Machine.ThreadsPerCore == 1) {
			continue // the same as thread
		}
		m := c.Machine
		m.Domain = s
		domain.Try(string(s), m)
	}
	out := []Influence{domain}
	for _, q := range c.Policy.Parameters {
		if q.Known {
			continue
		}
		i := Influence{Parameter: q.Name, Unit: q.Unit, Source: q.Source}
		for _, v := range append([]float64{q.Value}, q.Alternatives...) {
			p, err := c.Policy.With(q.Name, v)
			if err != nil {
				return nil, err
			}
			i.Settings = append(i.Settings, Setting{Value: q.Text(v), policy: &p})
		}
		out = append(out, i)
	}
	out = append(out, others...)
	var cases []Case
	for _, i := range out {
		for _, s := range i.Settings {
			d := c
			if s.machine != nil {
				d.Machine = *s.machine
			}
			if s.policy != nil {
				d.Policy = *s.policy
			}
			cases = append(cases, d)
		}
	}
	o.target, o.ratios = r, true
	answers, refused, err := compareEach(ctx, cases, baseline, nil, o)
	if err != nil {
		return nil, err
	}
	for i := range out {
		low, high := math.Inf(1), math.Inf(-1)
		for k := range out[i].Settings {
			s := &out[i].Settings[k]
			if refused[0] != nil {
				s.Ratio, s.Note = result.Unknown(), refused[0].Error() // such a host cannot have these policies
			} else if s.Ratio, s.Note = answers[0].ratio(r); s.Note != "" {
				high = math.Inf(1) // the policy cannot carry this load at all
			} else {
				low, high = min(low, s.Ratio.Value), max(high, s.Ratio.Value)
			}
			answers, refused = answers[1:], refused[1:]
		}
		if high > low {
			out[i].Range = high - low
		}
	}
	slices.SortStableFunc(out, func(a, b Influence) int { return cmp.Compare(b.Range, a.Range) })
	return out, nil
}

// Try adds a machine to those that an unknown may make, the assumed one first.
func (i *Influence) Try(value string, m Machine) {
	i.Settings = append(i.Settings, Setting{Value: value, machine: &m})
}

// ratio returns that of the only row; it is unknown, and why says so, where there is none.
func (c Comparison) ratio(r Response) (e result.Estimate, why string) {
	row := c.Rows[0]
	if e, ok := row.Ratio[r]; ok {
		return e, ""
	}
	return result.Unknown(), cmp.Or(row.Refused, "no ratio")
}

// Bounds of the search for the load at which an effect vanishes, and its step.
const (
	lowestLoad  = 0.05
	highestLoad = 0.95 // of the grid; one more load lies above
	busiestLoad = 0.98
	loadStep    = 0.01
)

// LoadWhereEffectVanishes searches the load at and above which the ratio's upper
// bound is below limit (1.05 for 5 %). Open workloads only.
func LoadWhereEffectVanishes(ctx context.Context, c Case, baseline Policy, r Response, limit float64,
	o Options) (Vanishing,
	error) {
	if err := c.Workload.mustBeOpen(); err != nil {
		return Vanishing{}, err
	}
	if err := between("limit", limit, 1, 100, ""); err != nil {
		return Vanishing{}, err
	}
	// An effect that ends at the limit has to be distinguished from the limit.
	o = o.withDefaults()
	o.Precision, o.target, o.ratios = min(o.Precision, max(1e-4, (limit-1)/10)), r, true
	v := Vanishing{Policy: c.Policy.String(), Response: r, Limit: limit, Load: math.NaN()}
	// A coarse grid first, all in parallel: the effect need not fall steadily.
	var grid []float64
	for k := range 10 {
		grid = append(grid, math.Round(100*(lowestLoad+float64(k)*(highestLoad-lowestLoad)/9))/100)
	}
	grid = append(grid, busiestLoad)
	if err := v.try(ctx, c, baseline, r, grid, o); err != nil {
		return Vanishing{}, err
	}
	if len(v.Points) == 0 {
		return v, nil
	}
	below := func(p VanishingPoint) bool { return p.Ratio.High < limit } // false for NaN
	last := len(v.Points) - 1
	if !below(v.Points[last]) {
		return v, nil
	}
	first := last
	for first > 0 && below(v.Points[first-1]) {
		first--
	}
	v.Found, v.Load = true, v.Points[first].Load
	if first == 0 {
		v.Everywhere = true
		return v, nil
	}
	low, high := v.Points[first-1].Load, v.Points[first].Load
	for high-low > loadStep {
		middle := (low + high) / 2
		n := len(v.Points)
		if err := v.try(ctx, c, baseline, r, []float64{middle}, o); err != nil {
			return Vanishing{}, err
		}
		if len(v.Points) == n {
			break
		}
		if below(v.Points[n]) {
			high = middle
		} else {
			low = middle
		}
	}
	v.Load = high
	slices.SortStableFunc(v.Points, func(a, b VanishingPoint) int { return cmp.Compare(a.Load, b.Load) })
	return v, nil
}

func (v *Vanishing) try(ctx context.Context, c Case, baseline Policy, r Response, loads []float64, o Options) error {
	all, refused, err := compareEach(ctx, c.AtLoads(loads), baseline, nil, o)
	if err != nil {
		return err
	}
	for i, load := range loads {
		if refused[i] != nil { // the baseline cannot carry it
			continue
		}
		p := VanishingPoint{Load: load}
		p.Ratio, p.Note = all[i].ratio(r)
		v.Points = append(v.Points, p)
	}
	return nil
}

func (w Workload) mustBeOpen() error {
	if w.Open() {
		return nil
	}
	return fmt.Errorf("workload %s is closed: it has no load to vary; leave users at 0 for an open one", w.Name)
}
