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

// Sweep gives the ratio of response to the baseline's over loads x mean slice
// lengths; slices and waits scale together, so that a step keeps its shape. Open workloads only.
func Sweep(ctx context.Context, c Case, baseline Policy, r Response, loads, slices []float64, o Options) (Map, error) {
	if err := c.Workload.mustBeOpen(); err != nil {
		return Map{}, err
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
	all, refused, err := compareEach(ctx, cases, baseline, nil, o)
	if err != nil {
		return Map{}, err
	}
	m.Ratios = make([][]result.Estimate, len(loads))
	for i, x := range all {
		e := result.Unknown()
		if refused[i] == nil {
			e, _ = x.ratio(r)
		}
		m.Ratios[i/len(slices)] = append(m.Ratios[i/len(slices)], e)
	}
	return m, nil
}
