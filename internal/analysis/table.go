package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// scale is that of one response's test: logarithms for ratios, else the values.
type scale struct{ response result.Response }

func (s scale) ratio() bool { return s.response.Compare != result.Difference }

// value returns y on the scale of the test, or why it cannot be there.
func (s scale) value(y float64) (z float64, reason string) {
	switch {
	case math.IsNaN(y) || math.IsInf(y, 0):
		return math.NaN(), "not a finite number"
	case !s.ratio():
		return y, ""
	case y <= 0: // of 0 there is no logarithm: where one is, table compares by difference
		return math.NaN(), negative
	}
	return math.Log(y), ""
}

// negative is why a value is left out.
const negative = "negative, and compared as a ratio"

// effect turns a difference on the scale of the test into that of Effect.Value.
func (s scale) effect(d float64) float64 {
	if s.ratio() {
		return math.Expm1(d)
	}
	return d
}

// estimate turns an interval of differences on the scale of the test into one of effects.
func (s scale) estimate(iv result.Estimate) result.Estimate { return iv.Map(s.effect) }

// level turns a mean on the scale of the test into one of the response.
func (s scale) level(z float64) float64 {
	if s.ratio() {
		return math.Exp(z)
	}
	return z
}

// margin returns the practical margin on the scale of the test. On the log scale
// it is the same to both sides: a margin of 2 % is +2 % and -1.96 %, so that
// swapping level and baseline turns a verdict round and never changes it.
func (s scale) margin() float64 {
	if s.ratio() {
		return math.Log1p(s.response.Margin)
	}
	return s.response.Margin
}

// cost is 1 where more costs more, -1 where higher is better.
func (s scale) cost() float64 {
	if s.response.Better == "higher" {
		return -1
	}
	return 1
}

// size writes a margin or the size of an effect.
func (s scale) size(v float64) string {
	if s.ratio() {
		return result.Percent(v, 2)
	}
	return result.Format(v, s.response.Unit)
}

// table holds one response: the mean over its repeats of every cell of every
// block to be analysed, on the scale of the test. NaN: no value.
type table struct {
	scale
	cells    int
	rows     []int // blocks
	z        []float64
	taken    []float64   // beside z: the CPU time that others took, where effects are adjusted for it; else nil
	loads    []load      // of each row, where effects are adjusted for it; else nil
	values   [][]float64 // by cell: those of all runs, in the response's unit
	fraction float64     // margin of what is compared by difference for its zeros, of a median; 0: none is
	warnings []string
	notes    []string // what is as the workload says that it has to be
	none     string   // why no run has a value; "": some have
	// apart are cells of which no run has the response, each with a reason of the
	// workload's: it means nothing there, as the time between two threads where there is
	// one. nil where it is primary.
	apart []bool
}

// without reports whether a comparison needs a cell in which the response means
// nothing: there is then nothing to compare.
func (t *table) without(c comparison) bool {
	return t.apart != nil && slices.ContainsFunc(c.weights, func(w weight) bool { return t.apart[w.cell] })
}

func (t *table) row(i int) []float64 { return t.z[i*t.cells : (i+1)*t.cells] }

// tables fills one table for each response from the given blocks, whose runs are used.
func (r *record) tables(blocks []int, used []*result.Run) []*table {
	at := map[int]int{} // block -> row
	for i, b := range blocks {
		at[b] = i
	}
	out := make([]*table, len(r.x.Responses))
	count := make([]int, len(blocks)*len(r.x.Cells))
	taken, warning := r.taken(used, at)
	loads, unknown := r.loads(used, at)
	warning = cmp.Or(warning, unknown)
	for i, response := range r.x.Responses {
		t := &table{scale: scale{response}, cells: len(r.x.Cells), rows: blocks, z: make([]float64, len(count)),
			values: make([][]float64, len(r.x.Cells)), taken: taken, loads: loads}
		if warning != "" {
			t.warnings, warning = append(t.warnings, warning), ""
		}
		clear(count)
		bad := map[string]int{}
		t.setApart(used)
		t.zeros(used)
		for _, run := range used {
			z, reason := math.NaN(), "missing"
			if y, ok := run.Values[response.Name]; ok {
				z, reason = t.value(y)
				if reason == "" {
					t.values[run.Cell] = append(t.values[run.Cell], y)
				}
			}
			if reason != "" {
				if t.apart == nil || !t.apart[run.Cell] {
					bad[reason]++
				}
				continue
			}
			// A running mean: sums of many repeats would round more.
			k := at[run.Block]*t.cells + run.Cell
			count[k]++
			t.z[k] += (z - t.z[k]) / float64(count[k])
		}
		for k, n := range count {
			if n == 0 {
				t.z[k] = math.NaN()
			}
		}
		for _, reason := range []string{"missing", "not a finite number", negative} {
			if n := bad[reason]; n > 0 {
				t.warnings = append(t.warnings, fmt.Sprintf("%s is %s in %s, not counted in its effects", response.Name, reason,
					screen.Plural(n, "run", "runs")))
			}
		}
		out[i] = t
	}
	return out
}

// setApart finds the cells in which a secondary response means nothing. The note has one of the reasons.
func (t *table) setApart(used []*result.Run) {
	if t.response.Primary {
		return
	}
	seen, values, why := make([]bool, t.cells), make([]bool, t.cells), ""
	for _, run := range used {
		reason := run.Missing[t.response.Name]
		seen[run.Cell] = true
		if values[run.Cell] = values[run.Cell] || reason == ""; reason != "" && why == "" {
			why = reason
		}
	}
	t.apart = make([]bool, t.cells)
	n := 0
	for c := range t.apart {
		if t.apart[c] = seen[c] && !values[c]; t.apart[c] {
			n++
		}
	}
	switch {
	case n == t.cells && n > 0:
		t.none = why
	case n > 0:
		t.notes = append(t.notes, fmt.Sprintf("%s is not compared with %s, which have none: %s", t.response.Name,
			screen.Plural(n, "cell", "cells"), why))
	}
}

// absent names the responses that no run has, together where the reason is the same.
func absent(tables []*table) (notes []string) {
	var whys []string
	names := map[string][]string{}
	for _, t := range tables {
		if t.none != "" {
			names[t.none] = append(names[t.none], t.response.Name)
			if len(names[t.none]) == 1 {
				whys = append(whys, t.none)
			}
		}
	}
	for _, why := range whys {
		notes = append(notes, fmt.Sprintf("no run has %s: %s", strings.Join(names[why], ", "), why))
	}
	return notes
}

// median returns the median over blocks of the mean of the cells given, in the
// response's unit.
func (t *table) median(cells []int) float64 {
	if len(cells) == 0 {
		return math.NaN()
	}
	means := make([]float64, 0, len(t.rows))
	for i := range t.rows {
		row, sum := t.row(i), 0.0
		for _, c := range cells {
			sum += row[c]
		}
		if !math.IsNaN(sum) {
			means = append(means, sum/float64(len(cells)))
		}
	}
	return t.level(stats.Median(means))
}

// zeros turns the comparison of a response into one by difference where a run has 0,
// which is a value and has no ratio. The margin stays the fraction that it was, of the
// baseline's median in each comparison (see on).
func (t *table) zeros(used []*result.Run) {
	if !t.ratio() {
		return
	}
	zero, all := 0, 0
	for _, run := range used {
		if v, ok := run.Values[t.response.Name]; ok {
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
	t.warnings = append(t.warnings,
		fmt.Sprintf(
			"%s is 0 in %s, of which there is no ratio: it is compared as a difference, in %s, with a margin of %s of the "+
				"baseline's median",
			t.response.Name, screen.Plural(zero, "run", "runs"), cmp.Or(t.response.Unit, "its own unit"),
			result.Percent(t.response.Margin, 2)))
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
