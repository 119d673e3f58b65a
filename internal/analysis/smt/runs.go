package smt

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// The names that a study of the workload scanlock has: its responses, and the levels
// of the factor that varies its cell.
const (
	LockRate   = "lock_rate"
	totalRate  = "total_rate"
	Alone      = "none"
	onSibling  = "@sibling"
	aluSibling = "alu" + onSibling
	ownSibling = "own" + onSibling
)

// moved is how the workload scanlock begins to say that placements changed; what else
// marks a run is what others took of the CPUs.
const moved = "the CPUs moved"

// others are the places of a scanner on another core, nearest first.
var others = []string{"@core", "@llc", "@socket"}

// steps are the sizes of a scan, rising.
var steps = []string{"half-l1", "half-l2", "2xl2", "2xllc"}

// FromRuns makes the input of the rule from a record of a study of the workload
// scanlock: the runs that count, where each block is a round. ok is false where no
// factor has the level "none", the lock thread alone.
func FromRuns(x *result.Experiment, runs []result.Run) (in Input, ok bool) {
	r, ok := Read(x, runs)
	if !ok {
		return in, false
	}
	in.Alpha = x.Design.Alpha
	if !(in.Alpha > 0 && in.Alpha < 1) {
		in.Alpha = 0
	}
	scan, other := r.scanner(onSibling), ""
	for _, place := range others {
		other = cmp.Or(other, r.scanner(place))
	}
	in.NoSiblings, in.NoOther = r.absent(onSibling), r.absent(others[0])
	in.Sibling, in.Other = r.against(scan, LockRate), r.against(other, LockRate)
	in.Alone, in.Beside = r.median(Alone), r.median(scan)
	in.ALU = r.against(r.has(aluSibling), LockRate)
	in.Yield = r.against(r.has(ownSibling), totalRate)
	in.Marked = []Marked{r.marked(""), r.marked(Alone), r.marked(scan), r.marked(other)}
	in.CauseMarked = []Marked{r.marked(r.has(aluSibling))}
	for _, s := range steps {
		level := r.step(s)
		if level == "" {
			continue
		}
		in.Sweep = append(in.Sweep, Step{Name: s, Ratio: r.against(level, LockRate)})
		if level != scan && s != "2xllc" { // which the cause does not ask for
			in.CauseMarked = append(in.CauseMarked, r.marked(level))
		}
	}
	return in, true
}

// scale is a response as it is compared.
type scale struct {
	response string
	compare  result.Comparison
}

// Rounds are the runs of a record that count, by the levels of the factor that varies
// the workload's cell.
type Rounds struct {
	Factor result.Factor
	x      *result.Experiment
	runs   []result.Run
	blocks int
	means  map[scale][]map[int]float64 // of each cell
}

// Read finds the factor and the runs that count. ok is false where no factor has the
// level "none".
func Read(x *result.Experiment, runs []result.Run) (r *Rounds, ok bool) {
	i := slices.IndexFunc(x.Factors, func(f result.Factor) bool { return slices.Contains(f.Levels, Alone) })
	if i < 0 {
		return nil, false
	}
	r = &Rounds{x: x, Factor: x.Factors[i], means: map[scale][]map[int]float64{}}
	for _, run := range runs {
		if run.Status == result.OK && run.Cell >= 0 && run.Cell < len(x.Cells) && run.Block >= 0 {
			r.runs, r.blocks = append(r.runs, run), max(r.blocks, run.Block+1)
		}
	}
	return r, true
}

// Means are those of a response at a level, one for each block, on the scale of
// its comparison: logarithms for ratios. Where other factors vary too, each of their
// levels counts the same, and a block that lacks one of them has NaN, as what is left
// of it could not be compared with other blocks. nil: no cell has the level.
func (r *Rounds) Means(level string, response *result.Response) []float64 {
	cells := r.cells(level)
	if len(cells) == 0 {
		return nil
	}
	key := scale{response.Name, response.Compare}
	if r.means[key] == nil {
		r.means[key] = analysis.BlockMeans(r.x, r.runs, response)
	}
	out := make([]float64, r.blocks)
	for b := range out {
		for _, c := range cells {
			v, ok := r.means[key][c][b]
			if !ok {
				v = math.NaN()
			}
			out[b] += v / float64(len(cells))
		}
	}
	return out
}

// Logs are the means of a rate's logarithms, whatever the record compares it by.
func (r *Rounds) Logs(level, rate string) []float64 {
	return r.Means(level, &result.Response{Name: rate, Compare: result.Ratio})
}

// Marked counts the contaminated runs at a level.
func (r *Rounds) Marked(level string) int {
	m := r.marked(level)
	return m.Moved + m.Disturbed
}

// cells are the indices of those at a level.
func (r *Rounds) cells(level string) (out []int) {
	for i, c := range r.x.Cells {
		if level != "" && c.Levels[r.Factor.Name] == level {
			out = append(out, i)
		}
	}
	return out
}

// marked counts runs at a level, or of all cells.
func (r *Rounds) marked(level string) Marked {
	m, cells := Marked{Cell: level}, r.cells(level)
	whole := level == ""
	for i := range r.runs {
		run := &r.runs[i]
		if !whole && !slices.Contains(cells, run.Cell) {
			continue
		}
		m.Runs++
		switch {
		case strings.HasPrefix(run.Contaminated, moved):
			m.Moved++
		case run.Contaminated != "":
			m.Disturbed++
		}
	}
	return m
}

// against is what a response at a level keeps of the lock rate alone.
func (r *Rounds) against(level, response string) []float64 {
	return minus(r.Logs(level, response), r.Logs(Alone, LockRate))
}

// scanner is the level of the scan that the verdict is about, at a place; "" for none.
func (r *Rounds) scanner(place string) string {
	return r.has("scan"+place, "scan-2xl2"+place)
}

// has returns the first of some levels that the factor has, or "".
func (r *Rounds) has(levels ...string) string {
	for _, l := range levels {
		if slices.Contains(r.Factor.Levels, l) {
			return l
		}
	}
	return ""
}

// absent is why this host has no scanner at a place, or else nothing there; "" where
// nothing there was left out of the design.
func (r *Rounds) absent(place string) (why string) {
	for _, a := range r.x.Absent {
		if a.Factor != r.Factor.Name || !strings.HasSuffix(a.Level, place) {
			continue
		}
		reason := cmp.Or(a.Reason, "the record does not say why "+a.Level+" was left out")
		if a.Level == "scan"+place || a.Level == "scan-2xl2"+place {
			return reason
		}
		why = cmp.Or(why, reason)
	}
	return why
}

// median is that of the lock rate at a level; 0: not known.
func (r *Rounds) median(level string) float64 {
	known := slices.DeleteFunc(r.Logs(level, LockRate), math.IsNaN)
	if len(known) == 0 {
		return 0
	}
	return math.Exp(stats.Median(known))
}

// step is the level of a scan on the sibling by its size: that of the verdict's scan
// where that is as large; "" for none.
func (r *Rounds) step(name string) string {
	size := r.x.Context["scan_"+strings.ReplaceAll(name, "-", "_")]
	if level := r.has("scan-" + name + onSibling); level != "" || size == "" || size != r.x.Context["scan"] {
		return level
	}
	return r.has("scan" + onSibling)
}

// Size reads a number of bytes as the context of a record has it, "1.25 MiB"; 0: not
// known.
func Size(text string) int64 {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	bytes := v * map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	if err != nil || !(bytes > 0) || bytes > 1<<50 {
		return 0
	}
	return int64(bytes)
}

// Citation is the least and the greatest share that the lock thread on the scanner's sibling had
// of the mean of the others in published runs, and what the rule says of those.
type Citation struct {
	Source   string   `json:"source"`
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	Runs     int      `json:"runs"`
	Decision Decision `json:"-"`
}

// Cited are the printed runs of Oks' program, which a test has whole.
var Cited = Citation{"Oks, Be aware: To Hyper or not to Hyper, 2005", 722554 / ((10550011 + 11182506) / 2.0),
	1297138 / ((9900899 + 8984095) / 2.0), 4, Harm}
