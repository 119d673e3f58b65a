package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/result"
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
	case y <= 0:
		return math.NaN(), "zero or negative, and compared as a ratio"
	}
	return math.Log(y), ""
}

// effect turns a difference on the scale of the test into that of Effect.Value.
func (s scale) effect(d float64) float64 {
	if s.ratio() {
		return math.Expm1(d)
	}
	return d
}

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

// table holds one response: the mean over its repeats of every cell of every
// block to be analysed, on the scale of the test. NaN: no value.
type table struct {
	scale
	cells    int
	rows     []int // blocks
	z        []float64
	warnings []string
}

func (t *table) row(i int) []float64 { return t.z[i*t.cells : (i+1)*t.cells] }

// tables fills one table for each response from the runs of the given blocks.
func (r *record) tables(blocks []int) []*table {
	at := make([]int, len(r.x.Blocks)) // block -> row+1
	for i, b := range blocks {
		at[b] = i + 1
	}
	out := make([]*table, len(r.x.Responses))
	count := make([]int, len(blocks)*len(r.x.Cells))
	for i, response := range r.x.Responses {
		t := &table{scale: scale{response}, cells: len(r.x.Cells), rows: blocks, z: make([]float64, len(count))}
		clear(count)
		bad := map[string]int{}
		lacking := map[int]int{} // cell -> runs without a value
		with := map[int]bool{}   // cells that have some
		for _, run := range r.runs {
			row := at[run.Block] - 1
			if row < 0 {
				continue
			}
			z, reason := math.NaN(), "missing"
			if y, ok := run.Values[response.Name]; ok {
				z, reason = t.value(y)
			}
			switch {
			case reason == "missing":
				lacking[run.Cell]++
				continue
			case reason != "":
				bad[reason]++
				continue
			}
			with[run.Cell] = true
			// A running mean: sums of many repeats would round more.
			k := row*t.cells + run.Cell
			count[k]++
			t.z[k] += (z - t.z[k]) / float64(count[k])
		}
		for cell, n := range lacking {
			// What one cell never has and others do is no loss: there is no such thing
			// in that cell, such as another thread's rate where no other thread is.
			if with[cell] || len(with) == 0 {
				bad["missing"] += n
			}
		}
		for k, n := range count {
			if n == 0 {
				t.z[k] = math.NaN()
			}
		}
		for _, reason := range []string{"missing", "not a finite number", "zero or negative, and compared as a ratio"} {
			if n := bad[reason]; n > 0 {
				t.warnings = append(t.warnings, fmt.Sprintf("%s is %s in %s, which cannot count for it", response.Name, reason, plural(n, "run", "runs")))
			}
		}
		out[i] = t
	}
	return out
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
