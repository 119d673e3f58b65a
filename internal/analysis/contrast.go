package analysis

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
)

// weight is a cell's part in a contrast.
type weight struct {
	cell int
	w    float64
}

// comparison is a contrast worked out on the cells. It gives one difference in
// every block; the weights sum to 0.
type comparison struct {
	weights     []weight
	level, base []int  // the cells of the two sides; none for interactions
	unit        string // what a difference is: blocks, pairs, superblocks or boots
	plotNoise   bool   // differences between whole plots are in it
	ordered     bool   // one cell is compared with its baseline by their random order, to take out what is adjusted for
}

// pairs reports whether they are of periods.
func (c comparison) pairs() bool { return c.unit == "pairs" }

// comparison works out the cells of contrast c, or says why it cannot.
func (r *record) comparison(c result.Contrast) (comparison, error) {
	if len(c.Factors) != len(c.Levels) || len(c.Factors) < 1 || len(c.Factors) > 2 {
		return comparison{}, fmt.Errorf("a contrast has one factor or two, and a level for each, not %d and %d",
			len(c.Factors), len(c.Levels))
	}
	factors := make([]result.Factor, len(c.Factors))
	for i, name := range c.Factors {
		k := slices.IndexFunc(r.x.Factors, func(f result.Factor) bool { return f.Name == name })
		if k < 0 {
			return comparison{}, fmt.Errorf("the record has no factor %q", name)
		}
		if factors[i] = r.x.Factors[k]; factors[i].Baseline == c.Levels[i] {
			return comparison{}, fmt.Errorf("%q is the baseline of factor %q itself", c.Levels[i], name)
		}
	}
	// Corners of the contrast: bit i is set where factor i is at its level.
	corners := make([][]int, 1<<len(factors))
	for i, cell := range r.x.Cells {
		if corner, ok := cornerOf(cell, c, factors); ok {
			corners[corner] = append(corners[corner], i)
		}
	}
	for _, cells := range corners {
		if len(cells) == 0 || len(cells) != len(corners[0]) {
			return comparison{}, fmt.Errorf("the design has not the same cells at every level of %s", c)
		}
	}
	out := comparison{unit: "blocks"}
	if len(factors) == 1 {
		out.base, out.level = corners[0], corners[1]
	}
	out.ordered = len(out.level) == 1 && len(out.base) == 1 && (r.x.Design.Adjust || r.x.Design.Kind == result.Switchback)
	for corner, cells := range corners {
		sign := 1.0 // + at all levels, each factor at its baseline turns it round
		for i := range factors {
			if corner>>i&1 == 0 {
				sign = -sign
			}
		}
		for _, cell := range cells {
			out.weights = append(out.weights, weight{cell, sign / float64(len(cells))})
		}
	}
	r.units(&out)
	return out, nil
}

// cornerOf says where in the contrast a cell belongs, if anywhere.
func cornerOf(cell result.Cell, c result.Contrast, factors []result.Factor) (int, bool) {
	for name, level := range c.At {
		if cell.Levels[name] != level {
			return 0, false
		}
	}
	corner := 0
	for i, f := range factors {
		switch cell.Levels[f.Name] {
		case c.Levels[i]:
			corner |= 1 << i
		case f.Baseline:
		default:
			return 0, false
		}
	}
	return corner, true
}

// units says what the differences of a split plot count, and whether they hold the
// noise between boots. All runs of a boot share what is particular to it and are no
// replicates. Nor are the boots of a superblock replicates of a contrast within
// boots: they are at different levels, at which its effect may differ, so that their
// differences pooled would be a mixture whose centre is not the mean over cells that
// the contrast asks for. They are averaged, and a superblock gives one difference;
// where one boot of each holds the whole contrast, those boots are what is counted.
func (r *record) units(c *comparison) {
	if r.x.Design.Kind == result.Switchback && c.ordered {
		c.unit = "pairs"
	}
	if r.x.Design.Kind != result.SplitPlot {
		return
	}
	c.unit = "superblocks"
	plots := map[string]float64{} // sums of their weights
	for _, w := range c.weights {
		key := ""
		for _, f := range r.x.Factors {
			if f.Change.WholePlot() {
				key += fmt.Sprintf("%q,", r.x.Cells[w.cell].Levels[f.Name])
			}
		}
		plots[key] += w.w
	}
	if len(plots) == 1 {
		c.unit = "boots"
	}
	for _, sum := range plots {
		c.plotNoise = c.plotNoise || math.Abs(sum) > 1e-9
	}
}
