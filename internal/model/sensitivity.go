package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

// Sensitivity varies each unknown one at a time: the frequency domain's scope and
// the parameters of c.Policy that are not Known. It returns the range of the ratio
// of response to baseline's for each, largest first.
func Sensitivity(ctx context.Context, c Case, baseline Policy, r Response, o Options) ([]Influence, error) {
	if c.Policy.Bounds {
		return nil, fmt.Errorf("policy %s: the hardware chooses the frequency; there is no parameter to vary", c.Policy.Name)
	}
	var out []Influence
	var cases []Case
	var policies [][]Policy
	scopes := []Scope{c.Machine.Domain}
	for _, s := range Scopes() {
		if s == c.Machine.Domain || s == PerCore && c.Machine.ThreadsPerCore == 1 {
			continue // the same as thread
		}
		scopes = append(scopes, s)
	}
	domain := Influence{Parameter: "domain", Source: "the machine: which CPUs share one frequency"}
	for _, s := range scopes {
		v := c
		v.Machine.Domain = s
		cases, policies = append(cases, v), append(policies, []Policy{c.Policy})
		domain.Settings = append(domain.Settings, Setting{Value: string(s)})
	}
	out = append(out, domain)
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
			cases, policies = append(cases, c), append(policies, []Policy{p})
			i.Settings = append(i.Settings, Setting{Value: q.Text(v)})
		}
		out = append(out, i)
	}
	o.target, o.ratios = r, true
	answers, err := compareEach(ctx, cases, baseline, policies, o)
	if err != nil {
		return nil, err
	}
	for i := range out {
		low, high := math.Inf(1), math.Inf(-1)
		for k := range out[i].Settings {
			s := &out[i].Settings[k]
			row := answers[0].Rows[0]
			answers = answers[1:]
			e, ok := row.Ratio[r]
			if !ok {
				s.Note = "no ratio"
				if len(row.Warnings) > 0 {
					s.Note = row.Warnings[0]
				}
				s.Ratio = result.Unknown()
				high = math.Inf(1) // the policy cannot carry this load at all
				continue
			}
			s.Ratio = e
			low, high = min(low, e.Value), max(high, e.Value)
		}
		out[i].Range = max(0, high-low)
	}
	slices.SortStableFunc(out, func(a, b Influence) int { return cmp.Compare(b.Range, a.Range) })
	return out, nil
}
