package effects

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/smt"
	"hostlab/internal/stats"
)

// newSMT reads the cells of a record of the workload scanlock: one factor has the
// level "none" and levels such as "scan-half-l2@sibling", what runs beside the lock
// thread and where.
func newSMT(a *analysis.Analysis, runs []result.Run) extra {
	x := a.Experiment
	s := &smtSection{x: x, absent: map[string]string{}}
	in, ok := smt.FromRuns(x, runs)
	switch {
	case !ok:
		s.verdict = smt.Verdict{Decision: smt.Inconclusive, Reason: `No verdict: the record has no level "none", the lock thread alone, to compare with.`}
		return s
	case len(runs) == 0:
		s.verdict = smt.Verdict{Decision: smt.Inconclusive, Reason: "No verdict yet: no block is complete."}
	default:
		s.verdict = smt.Judge(in)
	}
	alpha := cmp.Or(in.Alpha, crossAlpha)
	for i := range x.Responses {
		switch r := &x.Responses[i]; r.Name {
		case smtRate:
			s.lockRate = r
		case "other_rate":
			s.scanRate = r
		}
	}
	if s.lockRate == nil || len(x.Factors) == 0 {
		return s
	}
	factor := x.Factors[slices.IndexFunc(x.Factors, func(f result.Factor) bool { return slices.Contains(f.Levels, smtAlone) })]
	for _, absent := range x.Absent {
		if _, _, place, ok := smtLevel(absent.Level); ok && s.absent[place] == "" && absent.Factor == factor.Name {
			s.absent[place] = absent.Reason
		}
	}
	for name, text := range x.Context {
		if title, ok := smtCaches[name]; ok && sizeBytes(text) > 0 {
			s.caches = append(s.caches, smtCache{title, sizeBytes(text)})
		}
	}
	slices.SortFunc(s.caches, func(a, b smtCache) int { return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.name, b.name)) })
	s.readCells(&factor, runs, alpha)
	return s
}

// The lock thread alone, and its rate.
const (
	smtAlone = "none"
	smtRate  = "lock_rate"
)

// smtCaches are the sizes in a record's context that the sweep marks.
var smtCaches = map[string]string{"l1": "L1", "l1d": "L1", "l2": "L2", "llc": "LLC"}

// smtLevel takes a level apart: "scan-half-l2@sibling" is a scan of half of L2 on the
// sibling.
func smtLevel(level string) (antagonist, size, place string, ok bool) {
	what, place, ok := strings.Cut(level, "@")
	antagonist, size, _ = strings.Cut(what, "-")
	return antagonist, size, place, ok
}

// readCells makes a cell of every level, with what each response was.
func (s *smtSection) readCells(factor *result.Factor, runs []result.Run, alpha float64) {
	x := s.x
	ofLevel := func(level string) []int {
		var out []int
		for i, c := range x.Cells {
			if !c.Duplicate && c.Levels[factor.Name] == level {
				out = append(out, i)
			}
		}
		return out
	}
	means := map[string][]map[int]float64{}
	for i := range x.Responses {
		means[x.Responses[i].Name] = blockMeans(x, runs, &x.Responses[i])
	}
	read := func(level string) (smtCell, map[int]float64) {
		c := smtCell{medians: map[string]float64{}}
		cells := ofLevel(level)
		for i := range x.Responses {
			r := &x.Responses[i]
			if v := together(means[r.Name], cells); len(v) > 0 {
				c.medians[r.Name] = onResponse(r, stats.Median(slices.Collect(maps.Values(v))))
			}
		}
		for k := range runs {
			if slices.Contains(cells, runs[k].Cell) && runs[k].Contaminated != "" {
				c.marked++
			}
		}
		return c, together(means[s.lockRate.Name], cells)
	}
	var alone map[int]float64
	s.alone, alone = read(smtAlone)
	for _, level := range factor.Levels {
		antagonist, size, place, ok := smtLevel(level)
		if !ok {
			continue
		}
		c, rate := read(level)
		c.antagonist, c.place, c.sizeName = antagonist, place, size
		c.main = antagonist == "scan" && (size == "" || size == "2xl2" && !slices.Contains(factor.Levels, "scan@"+place))
		if antagonist == "scan" {
			key := "scan"
			if size != "" {
				key += "_" + strings.ReplaceAll(size, "-", "_")
			}
			c.size = sizeBytes(x.Context[key])
		}
		c.ratio = ratioOf(rate, alone, alpha)
		s.cells = append(s.cells, c)
	}
	for _, t := range smtTitles {
		for _, r := range x.Responses {
			if r.Name == t.name {
				r.Title = t.title
				s.others = append(s.others, r)
			}
		}
	}
	s.rotation = rotationOf(together(means["seed_share"], ofLevel("rotation")), alpha)
	slices.SortStableFunc(s.cells, func(a, b smtCell) int {
		return cmp.Or(cmp.Compare(antagonistRank(a.antagonist), antagonistRank(b.antagonist)), cmp.Compare(a.size, b.size))
	})
}

// antagonistRank puts what scans first, and what only shares issue slots behind it.
func antagonistRank(name string) int {
	order := []string{"scan", "alu", "fma", "pause", "own", "lock"}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// together are the blocks' means over some cells, of blocks that have all of them.
func together(means []map[int]float64, cells []int) map[int]float64 {
	out := map[int]float64{}
	if len(cells) == 0 || means == nil {
		return out
	}
	for block := range means[cells[0]] {
		sum, n := 0.0, 0
		for _, c := range cells {
			if v, ok := means[c][block]; ok {
				sum += v
				n++
			}
		}
		if n == len(cells) {
			out[block] = sum / float64(n)
		}
	}
	return out
}

// ratioOf compares two cells within blocks as package smt does: by ranks, and by
// Student's below the blocks that ranks need.
func ratioOf(level, base map[int]float64, alpha float64) stats.Interval {
	d := differences(level, base)
	iv := stats.HodgesLehmann(d, alpha)
	if len(d) < stats.MinBlocks(alpha) {
		iv = stats.PairedT(d, alpha)
	}
	return exponential(iv)
}

// rotationOf is the share that the scanner's sibling has in the published program,
// from its logarithms.
func rotationOf(shares map[int]float64, alpha float64) stats.Interval {
	none := map[int]float64{}
	for b := range shares {
		none[b] = 0
	}
	return ratioOf(shares, none, alpha)
}

// sizeBytes reads a size as the context has it, "1.25 MiB"; 0: not known.
func sizeBytes(text string) int64 {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	one := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	if err != nil || !(v*one > 0) || v*one > 1<<50 {
		return 0
	}
	return int64(v * one)
}
