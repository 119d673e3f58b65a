package effects

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// The most series that shapes and colours keep apart, the duplicate's included.
const maxSeries = 5

// series are the runs of one response that belong together in a picture.
type series struct {
	Name  string
	At    []float64 // on the timeline
	Value []float64
	Void  int   // runs that were void or failed
	Marks []int // indices of the runs that count though they are contaminated
}

// seriesOf parts runs by cell, or by the levels of the first factor where there are
// more cells than can be kept apart; values are then relative to the median of their
// cell, as cells of one level may be far apart. gone are the moments of void and
// failed runs on the timeline.
func seriesOf(x *result.Experiment, runs []result.Run, resp *result.Response, when []float64) (out []series, gone []float64, relative bool) {
	byCell := len(x.Cells) <= maxSeries
	var medians []float64
	if !byCell {
		medians, relative = cellMedians(x, runs, resp.Name)
	}
	at := map[string]int{}
	of := make([]int, len(x.Cells))
	for i := range x.Cells {
		name := cellName(x, &x.Cells[i])
		if !byCell && len(x.Factors) > 0 {
			f := x.Factors[0]
			name = f.Name + " " + x.Cells[i].Levels[f.Name]
		}
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, series{Name: name})
		}
		of[i] = min(k, maxSeries-1)
	}
	if len(out) > maxSeries {
		out = out[:maxSeries]
		out[maxSeries-1].Name = "all others"
	}
	for i := range runs {
		r := &runs[i]
		if r.Cell < 0 || r.Cell >= len(of) {
			continue
		}
		s, t := &out[of[r.Cell]], when[i]
		switch r.Status {
		case result.OK:
			if v, ok := r.Values[resp.Name]; ok && known(v) {
				if relative {
					v = v/medians[r.Cell] - 1
				}
				if r.Contaminated != "" {
					s.Marks = append(s.Marks, len(s.At))
				}
				s.At, s.Value = append(s.At, t), append(s.Value, v)
			}
		case result.Void, result.Failed:
			s.Void++
			gone = append(gone, t)
		case result.WarmUp:
		}
	}
	return out, gone, relative
}

// valuesOf are those of a response in each cell, of the runs that count.
func valuesOf(x *result.Experiment, runs []result.Run, response string) [][]float64 {
	out := make([][]float64, len(x.Cells))
	for i := range runs {
		r := &runs[i]
		if v, has := r.Values[response]; has && r.Status == result.OK && r.Cell >= 0 && r.Cell < len(out) && known(v) {
			out[r.Cell] = append(out[r.Cell], v)
		}
	}
	return out
}

// cellMedians are those of a response in each cell; ok where all are above 0.
func cellMedians(x *result.Experiment, runs []result.Run, response string) (out []float64, ok bool) {
	out = make([]float64, len(x.Cells))
	for i, v := range valuesOf(x, runs, response) {
		if out[i] = stats.Median(v); len(v) > 0 && !(out[i] > 0) {
			return nil, false
		}
	}
	return out, true
}

// cellName names a combination of levels: "power powersave, logdev nvme0".
func cellName(x *result.Experiment, c *result.Cell) string {
	name := cmp.Or(result.LevelsText(x.Factors, c.Levels), strings.Join(slices.Sorted(maps.Keys(c.Levels)), ", "))
	if c.Duplicate {
		name += " (A/A duplicate)"
	}
	return name
}

// shown are the responses that pictures show: primary ones, or the first.
func shown(x *result.Experiment) []result.Response {
	var out []result.Response
	for _, r := range x.Responses {
		if r.Primary && len(out) < 3 {
			out = append(out, r)
		}
	}
	if len(out) == 0 && len(x.Responses) > 0 {
		out = x.Responses[:1]
	}
	return out
}
