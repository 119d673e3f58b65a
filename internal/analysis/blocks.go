package analysis

import (
	"fmt"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Adjusted is what the CPU time that others took, by steal and foreign processes, had to do with a
// response; or the load of a live service.
type Adjusted struct {
	// the response that says how much was asked of the service; "": what others took
	Load string `json:"load,omitempty"`
	// it differs at the level, which may be its cause: the interval allows for both
	Moved     bool    `json:"moved"`
	Explained float64 `json:"explained"` // share of the variance of differences that was taken out
}

// movedAlpha is that of the test whether the level moves what is adjusted for: it is better to gain
// nothing once too often.
const movedAlpha = 0.1

// adjust takes from pairs of runs what others explain. Where the level seems to move what others take, d stays as it
// is and the interval holds that of both analyses: to choose one of them by such a test would favour the wrong one.
func (p *periods) adjust(d []float64, iv result.Estimate, effects []float64, alpha float64) result.Estimate {
	taken := make([]float64, len(p.Drift))
	for i, v := range p.Drift {
		taken[i] = v * p.Coins[i]
	}
	if x := stats.HodgesLehmann(taken, movedAlpha); x.Low > 0 || x.High < 0 {
		plain := stats.HodgesLehmann(d, alpha)
		plain.Low, plain.High = min(plain.Low, iv.Low), max(plain.High, iv.High)
		p.adjusted.Moved, p.adjusted.Explained = true, 0
		return plain
	}
	copy(d, effects)
	return iv
}

// taken returns the share of all CPUs that others took in each cell of each block, the
// mean of its runs: of steal and foreign processes, those that every run knows. at is block ->
// row. nil where the study does not adjust, or no run knows.
func (r *record) taken(used []*result.Run, at map[int]int) (taken []float64, warning string) {
	if !r.x.Design.Adjust || len(at) == 0 {
		return nil, ""
	}
	for _, condition := range []string{"steal", "foreign_cpu"} {
		sum, count := make([]float64, len(at)*len(r.x.Cells)), make([]float64, len(at)*len(r.x.Cells))
		known := true
		for _, run := range used {
			v, ok := run.Conditions[condition]
			known = known && ok
			sum[at[run.Block]*len(r.x.Cells)+run.Cell] += v
			count[at[run.Block]*len(r.x.Cells)+run.Cell]++
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
	if taken == nil {
		warning = fmt.Sprintf("nothing is adjusted: not every run of %d blocks knows the CPU time that others took", len(at))
	}
	return taken, warning
}
