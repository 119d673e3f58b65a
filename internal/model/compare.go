package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
