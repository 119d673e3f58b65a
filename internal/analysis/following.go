package analysis

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/stats"
)

// following holds what tells whether the runs of a comparison follow the levels of the runs before them.
type following struct {
	order []int       // cells of all runs of the record, by their start
	level []bool      // by cell: it is of the comparison's level
	at    []int       // places in order of the runs that have a value
	cells []int       // theirs
	left  []float64   // ranks of their values, less the typical one of their cell, whitened
	white float64     // how much of a rank goes on from run to run
	plots [][]int     // for each plot, indices of at: their cells came in random order
	lists [][]float64 // what histories returns
}

// following returns nil where the runs are too few, or their order does not vary.
func (j *judge) following(t *table, c comparison) *following {
	r := j.record
	f := &following{order: slices.Clone(r.order), level: make([]bool, len(r.x.Cells))}
	for _, cell := range c.level {
		f.level[cell] = true
	}
	values, plots := make([][]float64, len(r.x.Cells)), map[[2]int]int{}
	var z []float64
	for i, run := range r.runs {
		y, ok := run.Values[t.response.Name]
		v, reason := t.value(y)
		compared := slices.ContainsFunc(c.weights, func(w weight) bool { return w.cell == run.Cell })
		if _, used := slices.BinarySearch(j.rows, run.Block); !ok || reason != "" || !compared || !used {
			continue
		}
		plot := [2]int{run.Block, run.Plot}
		if _, ok := plots[plot]; !ok {
			plots[plot] = len(f.plots)
			f.plots = append(f.plots, nil)
		}
		f.plots[plots[plot]] = append(f.plots[plots[plot]], len(f.at))
		f.at, f.cells = append(f.at, r.place[i]), append(f.cells, run.Cell)
		values[run.Cell], z = append(values[run.Cell], v), append(z, v)
	}
	if len(z) < leastFollowing || !f.varies() {
		return nil
	}
	for range keeps {
		f.lists = append(f.lists, make([]float64, len(z)))
	}
	typical := make([]float64, len(values))
	for cell, v := range values {
		typical[cell] = stats.Median(v)
	}
	for i, cell := range f.cells {
		z[i] -= typical[cell]
	}
	f.left = stats.Ranks(z) // of which no stall is far from the others
	f.center(f.left, f.cells)
	var product, square float64
	for i, v := range f.left[1:] {
		product += v * f.left[i]
		square += v * v
	}
	if square > 0 {
		f.white = min(max(product/square, 0), mostWhite)
	}
	f.whiten(f.left)
	return f
}

// leastFollowing is nearly as many runs as there are up to the first look: some may have no value.
const leastFollowing = 16

// mostWhite keeps noise that wanders from taking all that is slow, and so what a host follows slowly.
const mostWhite = 0.95

// varies reports whether the level came first in some plots, and later in others.
func (f *following) varies() bool {
	first := func(plot []int) bool { return f.level[f.cells[plot[0]]] }
	return slices.ContainsFunc(f.plots, first) && slices.ContainsFunc(f.plots, func(p []int) bool { return !first(p) })
}

// center takes the mean of each cell from what its runs have.
func (f *following) center(x []float64, cells []int) {
	sum, n := make([]float64, len(f.level)), make([]float64, len(f.level))
	for i, cell := range cells {
		sum[cell] += x[i]
		n[cell]++
	}
	for i, cell := range cells {
		x[i] -= sum[cell] / n[cell]
	}
}

// whiten takes from each run what went on from the run before: noise that wanders, too. x becomes of length 1.
func (f *following) whiten(x []float64) {
	for i := len(x) - 1; i > 0; i-- {
		x[i] -= f.white * x[i-1]
	}
	if n := floats.Norm(x, 2); n > 0 {
		floats.Scale(1/n, x)
	}
}

// histories are, for each of keeps, how much of the level had gone before each run, had their cells come in this order.
// They hold until they are asked for again.
func (f *following) histories(cells []int) [][]float64 {
	for i, at := range f.at {
		f.order[at] = cells[i]
	}
	for k, keep := range keeps {
		list, state, next := f.lists[k], 0.0, 0
		for place, cell := range f.order[:f.at[len(f.at)-1]+1] {
			if f.at[next] == place {
				list[next] = state
				next++
			}
			state *= keep.share
			if f.level[cell] {
				state += 1 - keep.share
			}
		}
		f.center(list, cells)
		f.whiten(list)
	}
	return f.lists
}

// test returns which history the runs go with most, their correlation rho, and the p of none: how often the largest
// of all correlations is as large with the cells of each plot in another random order.
func (f *following) test(seed uint64) (which int, rho, p float64) {
	for k, list := range f.histories(f.cells) {
		if r := floats.Dot(f.left, list); math.Abs(r) > math.Abs(rho) {
			which, rho = k, r
		}
	}
	rng, larger, cells := rand.New(rand.NewPCG(seed, uint64(len(f.at)))), 1, slices.Clone(f.cells)
	for n := range orders {
		for _, plot := range f.plots {
			rng.Shuffle(len(plot), func(i, j int) { cells[plot[i]], cells[plot[j]] = cells[plot[j]], cells[plot[i]] })
		}
		if slices.ContainsFunc(f.histories(cells), func(list []float64) bool {
			return math.Abs(floats.Dot(f.left, list)) >= math.Abs(rho)-1e-12
		}) {
			larger++
		}
		if larger > orders/10 { // far from carryAlpha: no more of it matters
			return which, rho, float64(larger) / float64(n+2)
		}
	}
	return which, rho, float64(larger) / (orders + 1)
}

// orders are enough for a p that is compared with 0.05: its own error is then 0.7 %.
const orders = 999
