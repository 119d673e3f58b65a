package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// record is what of an experiment's runs can be analysed.
type record struct {
	x        *result.Experiment
	runs     []*result.Run // OK ones, at most one for each slot of the plan, by their start
	order    []int         // cells of all runs of the record, by their start
	place    []int         // of runs, in order
	harmed   []*result.Run // that harm has ended, those too that had no value
	complete []int         // blocks in which every planned cell has such a run, rising
	status   map[result.Status]int
	failures []Failures // of each cell
	spans    []span     // of each planned block
	warnings []string
}

// span is when a block's runs were: from the first one's start, warm-up apart, to
// the last one's end. Zero: none yet.
type span struct{ start, end time.Time }

// read sorts runs into the plan of x. It trusts neither: records are edited,
// merged and cut short.
func read(x *result.Experiment, runs []result.Run) *record {
	r := &record{x: x, status: map[result.Status]int{}, spans: make([]span, len(x.Blocks)),
		failures: make([]Failures, len(x.Cells))}
	for i := range r.failures {
		r.failures[i].Cell = i
	}
	seen := map[result.At]struct{ tried, decided, taken bool }{}
	has := make([]bool, len(x.Blocks)*len(x.Cells))
	strangers, again := 0, 0
	for at, i := range byStart(runs) {
		run := &runs[i]
		r.order = append(r.order, run.Cell)
		if run.Status == result.WarmUp && run.Reason != "" {
			r.status[FailedWarmUp]++
			continue
		}
		if r.status[run.Status]++; run.Status == result.WarmUp {
			continue
		}
		if !x.Plans(run) {
			strangers++
			continue
		}
		r.spans[run.Block].add(run)
		place, good := seen[run.At()], run.Status == result.OK
		r.failures[run.Cell].first(run, &place.tried, &place.decided)
		twice := good && place.taken
		place.taken = place.taken || good
		seen[run.At()] = place
		if run.Restarted {
			r.warnings = append(r.warnings,
				fmt.Sprintf("%s %d: %s; what was seen of the %[1]s until then does not count, and was made again",
					x.Design.Block(), run.Block+1, run.Reason))
		}
		if run.Harm != "" && !run.Restarted {
			r.harmed = append(r.harmed, run)
		}
		switch {
		case !good:
			continue
		case twice:
			again++
			continue
		}
		has[run.Block*len(x.Cells)+run.Cell] = true
		r.runs, r.place = append(r.runs, run), append(r.place, at)
	}
	for b, block := range x.Blocks[:x.Planned()] {
		if blockComplete(block, has[b*len(x.Cells):(b+1)*len(x.Cells)]) {
			r.complete = append(r.complete, b)
		}
	}
	if strangers > 0 {
		r.warnings = append(r.warnings, screen.Plural(strangers, "run has", "runs have")+
			" no place in the plan and does not count: the record may be mixed with another one")
	}
	if again > 0 {
		r.warnings = append(r.warnings, screen.Plural(again, "run does", "runs do")+
			" not count, because its place in the plan already has a good one")
	}
	return r
}

// byStart is the order in which runs began, whatever their places in the file.
func byStart(runs []result.Run) []int {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return runs[a].Start.Compare(runs[b].Start) })
	return order
}

func blockComplete(block result.Block, has []bool) bool {
	cells := 0
	for _, p := range block.Plots {
		for _, c := range p {
			if c < 0 || c >= len(has) || !has[c] {
				return false
			}
			cells++
		}
	}
	return cells > 0
}

// torn counts the blocks that have runs and are not complete; not the one that an
// experiment under way is in.
func (r *record) torn(underWay bool) int {
	n, last, k := 0, -1, 0
	for b, s := range r.spans[:r.x.Planned()] {
		if k < len(r.complete) && r.complete[k] == b {
			last = -1
			k++
		} else if !s.start.IsZero() {
			last = b
			n++
		}
	}
	if underWay && last >= 0 {
		n--
	}
	return n
}

func (s *span) add(run *result.Run) {
	if s.start.IsZero() || run.Start.Before(s.start) {
		s.start = run.Start
	}
	if end := run.Start.Add(time.Duration(run.Seconds * float64(time.Second))); end.After(s.end) {
		s.end = end
	}
}

// seconds returns the median time of the blocks given, from the start of one to
// that of the next, so that pauses and changes of levels are in it. NaN: not known.
func (r *record) seconds(blocks []int) float64 {
	var took []float64
	for _, b := range blocks {
		s := r.spans[b]
		end := s.end
		if b+1 < len(r.spans) && !r.spans[b+1].start.IsZero() {
			end = r.spans[b+1].start
		}
		if d := end.Sub(s.start).Seconds(); !s.start.IsZero() && d > 0 {
			took = append(took, d)
		}
	}
	if len(took) == 0 {
		return math.NaN()
	}
	return stats.Median(took)
}
