package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/model"
)

// Answer is a question with all that was simulated for it.
type Answer struct {
	Question
	Comparisons []model.Comparison // one a load; one in all for closed workloads
	Vanishing   []model.Vanishing  // of each policy that is simulated itself; open workloads only
	// Sensitivity is of the first policy that can be simulated itself, at the lowest load,
	// largest influence first.
	Sensitivity []model.Influence
	Map         *model.Map // with Sweep
	Assumptions []Assumption
	Warnings    []string
}

// SweepSlices are the mean lengths of slices that a map covers, in seconds.
func SweepSlices() []float64 { return []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5} }

// SweepLoads are the loads that a map covers.
func SweepLoads() []float64 { return []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95} }

// Ask simulates. step is called with what begins; it may be nil. The answer depends on the
// question only, whatever Options.Workers is. Errors are of the question, or the
// context's.
func Ask(ctx context.Context, q Question, step func(title string)) (*Answer, error) {
	if step == nil {
		step = func(string) {}
	}
	if err := q.validate(); err != nil {
		return nil, err
	}
	a := &Answer{Question: q, Assumptions: assumptions(q), Warnings: slices.Concat(q.Machine.Warnings, q.Workload.Warnings)}
	c := model.Case{Machine: q.Machine.Machine, Workload: q.Workload.Workload, Policy: q.Policies[0]}
	loads := q.Loads
	if !c.Workload.Open() {
		loads = []float64{math.NaN()}
	}
	step("policies")
	var err error
	if a.Comparisons, err = model.CompareLoads(ctx, c, q.Baseline, q.Policies, loads, q.Options); err != nil {
		return nil, err
	}
	rough := q.Options
	rough.Precision = 0.02
	if c.Workload.Open() {
		for _, p := range q.Policies {
			if p.Bounds {
				continue
			}
			step("where " + p.Name + " stops to matter")
			c.Policy = p
			v, err := model.LoadWhereEffectVanishes(ctx, c, q.Baseline, Headline, Limit, rough)
			if err != nil {
				return nil, err
			}
			a.Vanishing = append(a.Vanishing, v)
		}
	}
	c.Policy, c.Load = q.focus(), loads[0]
	if !c.Policy.Bounds {
		step("what the answer depends on")
		if a.Sensitivity, err = model.Sensitivity(ctx, c, q.Baseline, Headline, q.Machine.variations(), rough); err != nil {
			return nil, err
		}
	}
	if q.Sweep {
		if c.Policy.Bounds {
			return nil, fmt.Errorf("policy %s can only be bounded, so there is no map of it; name another one too", c.Policy.Name)
		}
		step("the map of loads and slices")
		m, err := model.Sweep(ctx, c, q.Baseline, Headline, SweepLoads(), SweepSlices(), rough)
		if err != nil {
			return nil, err
		}
		a.Map = &m
	}
	return a, nil
}

// assumptions lists all that is unknown or unverified, each once.
func assumptions(q Question) []Assumption {
	out := slices.Concat(q.Machine.Assumptions, q.Workload.Assumptions)
	seen := map[string]bool{}
	for _, p := range append([]model.Policy{q.Baseline}, q.Policies...) {
		for _, x := range p.Parameters {
			if x.Known || seen[p.Name+x.Name] {
				continue
			}
			seen[p.Name+x.Name] = true
			out = append(out, Assumption{Of: p.Name, Name: x.Name, Value: x.Text(x.Value), Source: x.Source})
		}
		if p.Note != "" && !seen[p.Name] {
			seen[p.Name] = true
			out = append(out, Assumption{Of: p.Name, Name: "rule", Value: "as modelled", Source: p.Note})
		}
	}
	return out
}
