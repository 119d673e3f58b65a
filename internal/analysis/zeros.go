package analysis

import (
	"fmt"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// zeros turns the comparison of a response into one by difference where a run has 0,
// which is a value and has no ratio. The margin stays the fraction that it was, of the
// baseline's median in each comparison (see on). at is block -> row+1.
func (t *table) zeros(r *record, at []int) {
	if !t.ratio() {
		return
	}
	zero, all := 0, 0
	for _, run := range r.runs {
		if v, ok := run.Values[t.response.Name]; ok && at[run.Block] > 0 {
			all++
			if v == 0 {
				zero++
			}
		}
	}
	switch {
	case zero == 0:
		return
	case zero == all && !t.response.Primary:
		for c := range t.apart {
			t.apart[c] = true
		}
		t.notes = append(t.notes, fmt.Sprintf("%s is 0 in every run", t.response.Name))
		return
	}
	unit := t.response.Unit
	if unit == "" {
		unit = "its own unit"
	}
	t.warnings = append(t.warnings,
		fmt.Sprintf(
			"%s is 0 in %s, of which there is no ratio: it is compared as a difference, in %s, with a margin of %s of the "+
				"baseline's median",
			t.response.Name, screen.Plural(zero, "run", "runs"), unit, result.Percent(t.response.Margin, 2)))
	t.fraction = t.response.Margin
	t.response.Compare = result.Difference
}

// on returns the table with the margin that holds for a comparison.
func (t *table) on(c comparison) *table {
	if t.fraction == 0 {
		return t
	}
	with := *t
	base := c.base
	if len(base) == 0 { // an interaction: all cells that it is made of
		for _, w := range c.weights {
			base = append(base, w.cell)
		}
	}
	with.response.Margin = t.fraction * max(0, stats.Median(t.of(base)))
	return &with
}

// raw returns the values of all runs of a comparison, in the response's unit.
func (t *table) raw(c comparison) []float64 {
	var cells []int
	for _, w := range c.weights {
		cells = append(cells, w.cell)
	}
	return t.of(cells)
}

func (t *table) of(cells []int) (all []float64) {
	for _, c := range cells {
		all = append(all, t.values[c]...)
	}
	return all
}
