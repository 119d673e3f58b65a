package runner

import (
	"cmp"
	"slices"
	"strings"

	"hostlab/internal/result"
)

// place is where in the plan a run belongs.
type place struct{ block, plot, slot int }

// slot is a place with the attempt that is due.
type slot struct {
	place
	cell    int
	attempt int // from 1
}

// pending returns what is left of a plot, in the order to run: first what was
// never tried, in the plan's order, then what was void or failed, in the order in
// which that happened. It depends on the record alone, so that a resume goes on as
// the killed session would have.
func pending(x *result.Experiment, runs []result.Run, block, plot int) []slot {
	cells := x.Blocks[block].Plots[plot]
	tried := make([]int, len(cells)) // how often
	last := make([]int, len(cells))  // index in runs of the last attempt
	ok := make([]bool, len(cells))
	for i := range runs {
		r := &runs[i]
		if r.Block != block || r.Plot != plot || r.Status == result.WarmUp {
			continue
		}
		tried[r.Slot], last[r.Slot] = max(tried[r.Slot], r.Attempt), i+1
		ok[r.Slot] = ok[r.Slot] || r.Status == result.OK
	}
	var left []slot
	for i, c := range cells {
		if !ok[i] {
			left = append(left, slot{place{block, plot, i}, c, tried[i] + 1})
		}
	}
	slices.SortStableFunc(left, func(a, b slot) int { return cmp.Compare(last[a.slot], last[b.slot]) })
	return left
}

// cellText names a cell for people.
func cellText(x *result.Experiment, cell int) string {
	var parts []string
	for _, f := range x.Factors {
		parts = append(parts, f.Name+"="+x.Cells[cell].Levels[f.Name])
	}
	return strings.Join(parts, " ")
}
