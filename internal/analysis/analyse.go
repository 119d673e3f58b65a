package analysis

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Analyse estimates all effects that x asks for from its runs, in any state of the
// experiment; end is nil while it has not ended. An experiment under way is judged
// by the blocks of the last look that it reached, since judging after every block
// would call an effect where there is none in 7 to 19 of 100 experiments instead
// of 5; one that ended is judged by all its complete blocks. Runs may come in any
// order, but where one place of the plan has two good ones the first is taken.
//
// It never fails: what a record lacks is a warning or the reason of a verdict. The
// arguments are not modified, and the analysis keeps a pointer to x.
func Analyse(x *result.Experiment, runs []result.Run, end *result.End) *Analysis {
	r := read(x, runs)
	a := &Analysis{Experiment: x, Complete: end != nil, Runs: r.status, Warnings: r.warnings}
	if end != nil {
		a.Ended = end.Reason
	}
	blocks := a.look(r, end)
	a.Seconds = r.seconds(blocks)

	alpha := x.Design.Alpha
	if !(alpha > 0 && alpha < 1) {
		alpha = 0.05
		a.Warnings = append(a.Warnings, fmt.Sprintf("the record's alpha is %g, which is none: 0.05 is taken", x.Design.Alpha))
	}
	primary := 0
	for _, c := range x.Contrasts {
		for _, response := range x.Responses {
			if c.Primary && response.Primary {
				primary++
			}
		}
	}
	atLook := func(alpha float64) float64 { return lookAlpha(alpha, x, a.Look) }
	used := r.used(blocks)
	a.Used, a.Failures, a.Struck = used, r.failures, r.struck()
	a.seen(used)
	j := judge{record: r, judged: a.Look > 0, spent: a.Ended == "budget", seconds: a.Seconds, rows: blocks,
		primary: atLook(stats.Simultaneous(alpha, primary, 1)), secondary: atLook(alpha),
		single: stats.Simultaneous(alpha, primary, 1)}
	j.last = lookAlpha(j.single, x, len(x.Design.Looks))
	if looks := x.Design.Looks; len(looks) > 0 {
		j.firstLook = looks[0]
	}

	tables := r.tables(blocks, used)
	a.Notes = append(a.Notes, absent(tables)...)
	floors := make([]float64, len(tables))
	for i, t := range tables {
		a.Warnings = append(a.Warnings, t.warnings...)
		a.Notes = append(a.Notes, t.notes...)
		if floors[i] = math.NaN(); x.Design.AA > 0 && t.none == "" {
			aa := j.aa(t)
			a.AA, floors[i] = append(a.AA, aa), aa.Floor
		}
	}
	for _, c := range x.Contrasts {
		compared, err := r.comparison(c)
		for i, t := range tables {
			if err == nil && t.without(compared) {
				continue
			}
			e := Effect{Contrast: c, Response: t.response}
			if err != nil {
				e = unknown(e, err)
			} else {
				e = j.effect(e, compared, t, floors[i])
			}
			e.Evidence = evidence(x, c)
			a.Effects = append(a.Effects, e)
		}
	}
	last := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(a.Effects, func(e, f Effect) int { return last[e.Primary()] - last[f.Primary()] })
	a.Warnings = append(a.Warnings, r.conditions(used)...)
	if text := unsettled(x, used); text != "" {
		a.Warnings = append(a.Warnings, text)
	}
	return a
}

// evidence is that of the experiment, but for a level that stands for something which is
// not there.
func evidence(x *result.Experiment, c result.Contrast) result.Evidence {
	for i, f := range c.Factors {
		if i < len(c.Levels) && x.Place(f, c.Levels[i]).Emulated {
			return result.Emulated
		}
	}
	return x.Evidence
}

// lookAlpha returns the alpha of an interval at a look, from 1, where alpha is that of
// all looks together; before the first look, what it will be there. An end between
// two looks counts as the later one: with fewer blocks than planned, it depends
// more on the looks before it, and errs less often besides them.
func lookAlpha(alpha float64, x *result.Experiment, look int) float64 {
	looks := x.Design.Looks
	if len(looks) == 0 {
		return alpha
	}
	return stats.LookAlphas(alpha, looks, x.Design.Kind == result.SplitPlot)[min(max(look, 1), len(looks))-1]
}

// look picks the blocks to judge and says what becomes of the others.
func (a *Analysis) look(r *record, end *result.End) (blocks []int) {
	blocks = r.complete
	block := a.Experiment.Design.Block()
	if n := r.torn(end == nil); n > 0 {
		a.Warnings = append(a.Warnings, screen.Plural(n, block+" is", block+"s are")+
			" left out, because a run that counts is missing")
	}
	reached := 0 // looks
	for _, l := range a.Experiment.Design.Looks {
		if l <= len(blocks) {
			reached++
		}
	}
	switch {
	case end != nil:
		if len(blocks) > 0 {
			// An end between two looks, when the budget was spent, is a look too.
			a.Look = reached
			if reached == 0 || a.Experiment.Design.Looks[reached-1] < len(blocks) {
				a.Look = min(reached+1, max(len(a.Experiment.Design.Looks), 1))
			}
		}
	case reached > 0:
		a.Look = reached
		if n := a.Experiment.Design.Looks[reached-1]; n < len(blocks) {
			a.Warnings = append(a.Warnings, fmt.Sprintf("%s after the look at %d for the next one, outside the estimates",
				screen.Plural(len(blocks)-n, block+" waits", block+"s wait"), n))
			blocks = blocks[:n]
		}
	}
	a.Blocks = len(blocks)
	return blocks
}
