package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hostlab/internal/result"
)

// Compare simulates c under each policy and under baseline with common random
// numbers: the same arrivals and the same work in each replication. A policy with
// Bounds gives two rows. c.Policy is ignored. A policy that cannot carry the load
// is a row whose Warnings say so, with no responses; the baseline must carry it.
func Compare(ctx context.Context, c Case, baseline Policy, policies []Policy, o Options) (Comparison, error) {
	all, err := CompareLoads(ctx, c, baseline, policies, []float64{c.Load}, o)
	if err != nil {
		return Comparison{}, err
	}
	return all[0], nil
}

// CompareLoads is Compare at several loads (open workloads), all in parallel.
func CompareLoads(ctx context.Context, c Case, baseline Policy, policies []Policy, loads []float64, o Options) ([]Comparison, error) {
	cases, each := make([]Case, len(loads)), make([][]Policy, len(loads))
	for i, load := range loads {
		c.Load = load
		cases[i], each[i] = c, policies
	}
	return compareEach(ctx, cases, baseline, each, o)
}

func compareOwn(ctx context.Context, cases []Case, baseline Policy, o Options) ([]Comparison, error) {
	each := make([][]Policy, len(cases))
	for i, c := range cases {
		each[i] = []Policy{c.Policy}
	}
	return compareEach(ctx, cases, baseline, each, o)
}

// bounded is a policy to simulate, and what it stands for.
type bounded struct {
	Policy
	bound Bound
}

func expand(policies []Policy) []bounded {
	var out []bounded
	for _, p := range policies {
		if !p.Bounds {
			out = append(out, bounded{p, Exact})
			continue
		}
		p.Bounds = false
		p.rule = ruleFloor
		out = append(out, bounded{p, AtLowestHertz})
		p.rule = ruleTop
		out = append(out, bounded{p, AtTopHertz})
	}
	return out
}

// compareEach compares each case's own policies with the baseline.
func compareEach(ctx context.Context, cases []Case, baseline Policy, policies [][]Policy, o Options) ([]Comparison, error) {
	o = o.withDefaults()
	if baseline.Bounds {
		return nil, fmt.Errorf("policy %s: it can only be bounded, so nothing can be compared with it", baseline.Name)
	}
	groups := make([][]Case, len(cases))
	rows := make([][]bounded, len(cases))
	for i, c := range cases {
		rows[i] = expand(policies[i])
		var err error
		if groups[i], err = group(c, baseline, rows[i]); err != nil {
			return nil, err
		}
	}
	runs, err := simulateGroups(ctx, groups, o)
	if err != nil {
		return nil, err
	}
	out := make([]Comparison, len(cases))
	for i := range runs {
		if out[i], err = comparison(runs[i], rows[i], o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// group makes the cases to simulate of one comparison, the baseline first. Invalid
// ones are an error; those that are only unstable stay, to become a row that says so.
func group(c Case, baseline Policy, rows []bounded) ([]Case, error) {
	c.Policy = baseline
	out := []Case{c}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for _, p := range rows {
		c.Policy = p.Policy
		var unstable *UnstableError
		if err := c.Validate(); err != nil && !errors.As(err, &unstable) {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func comparison(runs []*run, rows []bounded, o Options) (Comparison, error) {
	if runs[0].err != nil {
		return Comparison{}, runs[0].err
	}
	base := outcome(runs[0], o)
	out := Comparison{Case: runs[0].c, Baseline: compared(base, base, o)}
	for k, r := range runs[1:] {
		row := Row{Outcome: Outcome{Policy: r.c.Policy.String(), Load: math.NaN()}}
		if r.err == nil {
			row = compared(outcome(r, o), base, o)
		} else {
			row.Warnings = []string{r.err.Error()}
			if u, ok := errors.AsType[*UnstableError](r.err); ok {
				row.Warnings[0] = u.Short()
			}
		}
		if r.c.Workload.Open() {
			row.Load = r.c.Load
		}
		row.Bound = rows[k].bound
		out.Rows = append(out.Rows, row)
	}
	return out, nil
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
