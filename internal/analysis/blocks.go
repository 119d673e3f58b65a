package analysis

import (
	"fmt"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// ordered is what the random order of a comparison's runs tells.
type ordered interface {
	add(t *table, row int, c comparison)
	// estimate inverts the test of the order, and takes what is adjusted for from the differences d.
	estimate(d []float64, alpha float64) result.Estimate
	adjusted() *Adjusted // what became of it; nil: nothing was to be
}

// blocks are the values of a comparison that is randomised, those of the level first, on the scale
// of the test, by cell and then by block.
type blocks struct {
	values [][]float64
	taken  [][]float64 // shares of the CPUs that others took meanwhile; nil: not to be adjusted for
	// What became of the adjustment: see Adjusted.
	moved     bool
	explained float64
}

// Adjusted is what the CPU time that others took, by steal and foreign processes, had to do with a
// response; or the load of a live service.
type Adjusted struct {
	Load      string  `json:"load,omitempty"` // the response that says how much was asked of the service; "": what others took
	Moved     bool    `json:"moved"`          // it differs at the level, which may be its cause: the interval allows for both
	Explained float64 `json:"explained"`      // share of the variance of differences that was taken out
}

// movedAlpha is that of the test whether the level moves what is adjusted for: it is better to gain
// nothing once too often.
const movedAlpha = 0.1

func newBlocks(cells int, adjust bool) *blocks {
	b := &blocks{values: make([][]float64, cells)}
	if adjust {
		b.taken = make([][]float64, cells)
	}
	return b
}

// add takes in a row of a table.
func (b *blocks) add(t *table, row int, of comparison) {
	for i, c := range slices.Concat(of.level, of.base) {
		b.values[i] = append(b.values[i], t.row(row)[c])
		if b.taken != nil {
			b.taken[i] = append(b.taken[i], t.taken[row*t.cells+c])
		}
	}
}

// estimate inverts the randomisation test, and takes what others explain from the differences d.
// Where the level seems to move what others take, d stays as it is and the interval holds that of
// both analyses: to choose one of them by such a test would favour the wrong one.
func (b *blocks) estimate(d []float64, alpha float64) result.Estimate {
	plain, _ := stats.Randomised(b.values, nil, alpha)
	if b.taken == nil {
		return plain
	}
	iv, slope := stats.Randomised(b.values, b.taken, alpha)
	if x, _ := stats.Randomised(b.taken, nil, movedAlpha); x.Low > 0 || x.High < 0 {
		b.moved = true
		plain.Low, plain.High = min(plain.Low, iv.Low), max(plain.High, iv.High)
		return plain
	}
	before := stats.Variance(d)
	for i := range d {
		for c := range b.taken[1:] {
			d[i] -= slope * (b.taken[0][i] - b.taken[c+1][i]) / float64(len(b.taken)-1)
		}
	}
	if before > 0 {
		b.explained = max(0, 1-stats.Variance(d)/before)
	}
	return iv
}

func (b *blocks) adjusted() *Adjusted {
	if b.taken == nil {
		return nil
	}
	return &Adjusted{Moved: b.moved, Explained: b.explained}
}

// taken returns the share of all CPUs that others took in each cell of each block, the
// mean of its runs: of steal and foreign processes, those that every run knows. at is block ->
// row+1. nil where the study does not adjust, or no run knows.
func (r *record) taken(at []int, rows int) (taken []float64, warning string) {
	if !r.x.Design.Adjust {
		return nil, ""
	}
	for _, condition := range []string{"steal", "foreign_cpu"} {
		sum, count := make([]float64, rows*len(r.x.Cells)), make([]float64, rows*len(r.x.Cells))
		known := rows > 0
		for _, run := range r.runs {
			if row := at[run.Block] - 1; row >= 0 {
				v, ok := run.Conditions[condition]
				known = known && ok
				sum[row*len(r.x.Cells)+run.Cell] += v
				count[row*len(r.x.Cells)+run.Cell]++
			}
		}
		if !known {
			continue
		}
		if taken == nil {
			taken = make([]float64, len(sum))
		}
		for i := range sum {
			taken[i] += sum[i] / count[i]
		}
	}
	if taken == nil && rows > 0 {
		warning = fmt.Sprintf("nothing is adjusted: not every run of %d blocks knows the CPU time that others took", rows)
	}
	return taken, warning
}
