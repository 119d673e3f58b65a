package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

// Bounds of the search for the load at which an effect vanishes, and its step.
const (
	lowestLoad  = 0.05
	highestLoad = 0.95 // of the grid; one more load lies above
	busiestLoad = 0.98
	loadStep    = 0.01
)

// LoadWhereEffectVanishes searches the load at and above which the ratio's upper
// bound is below limit (1.05 for 5 %). Open workloads only.
func LoadWhereEffectVanishes(ctx context.Context, c Case, baseline Policy, r Response, limit float64, o Options) (Vanishing, error) {
	if !c.Workload.Open() {
		return Vanishing{}, fmt.Errorf("workload %s is closed: it has no load to vary; leave users at 0 for an open one", c.Workload.Name)
	}
	if err := between("limit", limit, 1, 100, ""); err != nil {
		return Vanishing{}, err
	}
	// An effect that ends at the limit has to be distinguished from the limit.
	o = o.withDefaults()
	o.Precision, o.target, o.ratios = min(o.Precision, max(1e-4, (limit-1)/10)), r, true
	v := Vanishing{Policy: c.Policy.String(), Load: math.NaN()}
	// A coarse grid first, all in parallel: the effect need not fall steadily.
	var grid []float64
	for k := range 10 {
		grid = append(grid, math.Round(100*(lowestLoad+float64(k)*(highestLoad-lowestLoad)/9))/100)
	}
	grid = append(grid, busiestLoad)
	if err := v.try(ctx, c, baseline, r, grid, o); err != nil {
		return Vanishing{}, err
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
		if below(v.Points[n]) {
			high = middle
		} else {
			low = middle
		}
	}
	v.Load = high
	slices.SortFunc(v.Points, func(a, b VanishingPoint) int { return cmp.Compare(a.Load, b.Load) })
	return v, nil
}

func (v *Vanishing) try(ctx context.Context, c Case, baseline Policy, r Response, loads []float64, o Options) error {
	all, err := CompareLoads(ctx, c, baseline, []Policy{c.Policy}, loads, o)
	if err != nil {
		return err
	}
	for i, load := range loads {
		p := VanishingPoint{Load: load, Ratio: ratioOf(all[i].Rows[0], r)}
		if p.Ratio.N == 0 && len(all[i].Rows[0].Warnings) > 0 {
			p.Note = all[i].Rows[0].Warnings[0]
		}
		v.Points = append(v.Points, p)
	}
	return nil
}

// ratioOf is unknown where there is none.
func ratioOf(row Row, r Response) result.Estimate {
	if e, ok := row.Ratio[r]; ok {
		return e
	}
	return result.Unknown()
}

// Sweep gives the ratio of response to the baseline's over loads x mean slice
// lengths; slices and waits scale together, so that a step keeps its shape. Open workloads only.
func Sweep(ctx context.Context, c Case, baseline Policy, r Response, loads, slices []float64, o Options) (Map, error) {
	if !c.Workload.Open() {
		return Map{}, fmt.Errorf("workload %s is closed: it has no load to vary; leave users at 0 for an open one", c.Workload.Name)
	}
	if len(loads) == 0 || len(slices) == 0 {
		return Map{}, fmt.Errorf("loads and slices need at least one value each")
	}
	o.target, o.ratios = r, true
	m := Map{Policy: c.Policy.String(), Baseline: baseline.String(), Response: r, Loads: loads, Slices: slices}
	var cases []Case
	for _, load := range loads {
		for _, slice := range slices {
			v := c
			v.Load = load
			k := slice / c.Workload.Slice.Mean
			v.Workload.Slice, v.Workload.Wait = c.Workload.Slice.Scaled(k), c.Workload.Wait.Scaled(k)
			cases = append(cases, v)
		}
	}
	all, err := compareCases(ctx, cases, baseline, []Policy{c.Policy}, o)
	if err != nil {
		return Map{}, err
	}
	for range loads {
		var row []result.Estimate
		for range slices {
			row = append(row, ratioOf(all[0].Rows[0], r))
			all = all[1:]
		}
		m.Ratios = append(m.Ratios, row)
	}
	return m, nil
}
