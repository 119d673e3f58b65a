package smt

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// The names that a study of the workload scanlock has: its responses, and the levels
// of the factor that varies its cell.
const (
	lockRate   = "lock_rate"
	totalRate  = "total_rate"
	alone      = "none"
	onSibling  = "@sibling"
	ownSibling = "own" + onSibling
)

// others are the places of a scanner on another core, nearest first.
var others = []string{"@core", "@llc", "@socket"}

// steps are the sizes of a scan, rising.
var steps = []string{"half-l1", "half-l2", "2xl2", "2xllc"}

// FromRuns makes the input of the rule from a record of a study of the workload
// scanlock: the runs that count, where each block is a round. ok is false where no
// factor has the level "none", the lock thread alone.
func FromRuns(x *result.Experiment, runs []result.Run) (in Input, ok bool) {
	r, ok := read(x, runs)
	if !ok {
		return in, false
	}
	in.Cells = len(r.runs)
	for _, run := range r.runs {
		if run.Contaminated != "" {
			in.Contaminated++
		}
	}
	in.Alpha = x.Design.Alpha
	if !(in.Alpha > 0 && in.Alpha < 1) {
		in.Alpha = 0
	}
	scan := r.has("scan"+onSibling, "scan-2xl2"+onSibling)
	in.Siblings = scan != ""
	for _, a := range x.Absent {
		if a.Factor == r.factor.Name && strings.HasSuffix(a.Level, onSibling) {
			in.NoSiblings = a.Reason
			break
		}
	}
	in.Sibling = r.against(scan, lockRate)
	in.Alone, in.Beside = r.median(alone), r.median(scan)
	for _, place := range others {
		if level := r.has("scan"+place, "scan-2xl2"+place); level != "" && in.Other == nil {
			in.Other = r.against(level, lockRate)
		}
	}
	in.ScanOverALU = minus(r.logs(scan, lockRate, false), r.logs(r.has("alu"+onSibling), lockRate, false))
	in.Sweep = r.sweep(onSibling)
	in.Yield = r.against(r.has(ownSibling), totalRate)
	if x.Design.AA {
		in.AA = minus(r.logs(alone, lockRate, true), r.logs(alone, lockRate, false))
	}
	return in, true
}

// Sweep returns what the lock thread keeps of its rate beside scans of each size at
// a place, such as "core", smallest first. Bytes is 0 where the record does not say.
func Sweep(x *result.Experiment, runs []result.Run, place string) []Step {
	if r, ok := read(x, runs); ok {
		return r.sweep("@" + place)
	}
	return nil
}

// rounds are the runs that count.
type rounds struct {
	x      *result.Experiment
	factor result.Factor
	runs   []*result.Run
	blocks int
}

// read finds the factor and the runs that count.
func read(x *result.Experiment, runs []result.Run) (*rounds, bool) {
	i := slices.IndexFunc(x.Factors, func(f result.Factor) bool { return slices.Contains(f.Levels, alone) })
	if i < 0 {
		return nil, false
	}
	r := &rounds{x: x, factor: x.Factors[i]}
	for k := range runs {
		if run := &runs[k]; run.Status == result.OK && run.Cell >= 0 && run.Cell < len(x.Cells) && run.Block >= 0 {
			r.runs, r.blocks = append(r.runs, run), max(r.blocks, run.Block+1)
		}
	}
	return r, true
}

// against is what a response at a level keeps of the lock rate alone.
func (r *rounds) against(level, response string) []float64 {
	return minus(r.logs(level, response, false), r.logs(alone, lockRate, false))
}

// has returns the first of some levels that the factor has, or "".
func (r *rounds) has(levels ...string) string {
	for _, l := range levels {
		if slices.Contains(r.factor.Levels, l) {
			return l
		}
	}
	return ""
}

// logs are the mean logarithms of a response at a level, one for each block, NaN
// where it has none; nil for the level "".
func (r *rounds) logs(level, response string, duplicate bool) []float64 {
	if level == "" {
		return nil
	}
	sum, n := make([]float64, r.blocks), make([]float64, r.blocks)
	for _, run := range r.runs {
		cell := r.x.Cells[run.Cell]
		if v, ok := run.Values[response]; ok && v > 0 && cell.Duplicate == duplicate && cell.Levels[r.factor.Name] == level {
			sum[run.Block] += math.Log(v)
			n[run.Block]++
		}
	}
	for b := range sum {
		sum[b] /= n[b] // 0/0 is NaN
	}
	return sum
}

// median is that of the lock rate at a level; 0: not known.
func (r *rounds) median(level string) float64 {
	known := slices.DeleteFunc(r.logs(level, lockRate, false), math.IsNaN)
	if len(known) == 0 {
		return 0
	}
	return math.Exp(stats.Median(known))
}

func (r *rounds) sweep(place string) (out []Step) {
	for _, name := range steps {
		level := r.has("scan-" + name + place)
		if level == "" && r.x.Context["scan"] != "" && r.x.Context["scan"] == r.x.Context["scan_"+strings.ReplaceAll(name, "-", "_")] {
			level = r.has("scan" + place)
		}
		if level != "" {
			out = append(out, Step{Name: name, Bytes: sizeOf(r.x.Context["scan_"+strings.ReplaceAll(name, "-", "_")]), Ratio: r.against(level, lockRate)})
		}
	}
	return out
}

// sizeOf reads a size as reports write it, "1.25 MiB"; 0: not known.
func sizeOf(text string) int64 {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	one, ok := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	if err != nil || !ok || v < 0 || v > 1<<20 {
		return 0
	}
	return int64(v * one)
}
