package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

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
