package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

// Variation is an unknown of the machine: the machines that its values make, the assumed
// one first.
type Variation struct {
	Name, Source string
	Values       []string
	Machines     []Machine
}

// Sensitivity varies each unknown one at a time: the frequency domain's scope, the
// parameters of c.Policy that are not Known, and others of the machine. It returns the
// range of the ratio of response to baseline's for each, largest first.
func Sensitivity(ctx context.Context, c Case, baseline Policy, r Response, others []Variation, o Options) ([]Influence, error) {
	if c.Policy.Bounds {
		return nil, fmt.Errorf("policy %s: the hardware chooses the frequency; there is no parameter to vary", c.Policy.Name)
	}
	domain := Variation{Name: "domain", Source: "the machine: which CPUs share one frequency"}
	for i, s := range append([]Scope{c.Machine.Domain}, Scopes()...) {
		if i > 0 && (s == c.Machine.Domain || s == PerCore && c.Machine.ThreadsPerCore == 1) {
			continue // the same as thread
		}
		m := c.Machine
		m.Domain = s
		domain.Values, domain.Machines = append(domain.Values, string(s)), append(domain.Machines, m)
	}
	var out []Influence
	var cases []Case
	add := func(i *Influence, value string, c Case) {
		cases, i.Settings = append(cases, c), append(i.Settings, Setting{Value: value})
	}
	vary := func(v Variation) {
		i := Influence{Parameter: v.Name, Source: v.Source}
		for k, m := range v.Machines {
			d := c
			d.Machine = m
			add(&i, v.Values[k], d)
		}
		out = append(out, i)
	}
	vary(domain)
	for _, q := range c.Policy.Parameters {
		if q.Known {
			continue
		}
		i := Influence{Parameter: q.Name, Unit: q.Unit, Source: q.Source}
		for _, v := range append([]float64{q.Value}, q.Alternatives...) {
			d := c
			var err error
			if d.Policy, err = c.Policy.With(q.Name, v); err != nil {
				return nil, err
			}
			add(&i, q.Text(v), d)
		}
		out = append(out, i)
	}
	for _, v := range others {
		vary(v)
	}
	o.target, o.ratios = r, true
	answers, err := CompareAll(ctx, cases, baseline, nil, o)
	if err != nil {
		return nil, err
	}
	for i := range out {
		low, high := math.Inf(1), math.Inf(-1)
		for k := range out[i].Settings {
			s := &out[i].Settings[k]
			if s.Ratio, s.Note = answers[0].ratio(r); s.Note != "" {
				high = math.Inf(1) // the policy cannot carry this load at all
			} else {
				low, high = min(low, s.Ratio.Value), max(high, s.Ratio.Value)
			}
			answers = answers[1:]
		}
		out[i].Range = max(0, high-low)
	}
	slices.SortStableFunc(out, func(a, b Influence) int { return cmp.Compare(b.Range, a.Range) })
	return out, nil
}

// ratio returns that of the only row; it is unknown, and why says so, where there is none.
func (c Comparison) ratio(r Response) (e result.Estimate, why string) {
	row := c.Rows[0]
	if e, ok := row.Ratio[r]; ok {
		return e, ""
	}
	return result.Unknown(), cmp.Or(row.Refused, "no ratio")
}
