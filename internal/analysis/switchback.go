package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Struck is a period of a live service that ended early, with the baseline, since it harmed the service. One that has a
// value counts as the level that it was assigned: what was left out would be the worst of that level.
type Struck struct {
	Pair    int // from 1
	Level   string
	Seconds float64 // it lasted
	Why     string
	// Harmless is why it does not count against the level; "": it does.
	Harmless string
}

// struck lists them in the order of the record.
func (r *record) struck() (list []Struck) {
	for _, run := range r.harmed {
		list = append(list, Struck{Pair: run.Block + 1, Level: result.LevelsText(r.x.Factors, r.x.Cells[run.Cell].Levels),
			Seconds: run.Seconds, Why: run.Harm, Harmless: run.Harmless})
	}
	return list
}

// coin is 1 where the level is the second period of a pair, as it was planned, and -1 where it is the first. A period
// that was made again stays where its coin put it.
func (r *record) coin(block int, c comparison) float64 {
	for _, plot := range r.x.Blocks[block].Plots {
		for _, cell := range plot {
			switch cell {
			case c.base[0]:
				return 1
			case c.level[0]:
				return -1
			}
		}
	}
	return 1
}

type periods struct {
	stats.Pairs
	record   *record
	drift    []float64 // of all rows of the table; nil: not adjusted
	adjusted *Adjusted // what became of that; nil: nothing was to be
}

func (p *periods) add(t *table, row int, c comparison) {
	coin := p.record.coin(t.rows[row], c)
	p.Coins = append(p.Coins, coin)
	p.Steps = append(p.Steps, coin*(t.row(row)[c.level[0]]-t.row(row)[c.base[0]]))
	switch {
	case p.drift != nil:
		p.Drift = append(p.Drift, p.drift[row])
	case t.taken != nil:
		taken := t.taken[row*t.cells : (row+1)*t.cells]
		p.Drift = append(p.Drift, coin*(taken[c.level[0]]-taken[c.base[0]]))
	}
}

func (p *periods) estimate(d []float64, alpha float64) result.Estimate {
	iv, effects, explained := stats.Switchback(p.Pairs, alpha)
	switch {
	case effects == nil:
	case p.drift == nil && p.Drift != nil:
		p.adjusted = &Adjusted{Explained: explained}
		iv = p.adjust(d, iv, effects, alpha)
	default:
		copy(d, effects)
		if p.drift != nil {
			p.adjusted = &Adjusted{Load: p.record.x.Design.Load, Explained: explained}
		}
	}
	if math.IsInf(iv.Low, 0) || math.IsInf(iv.High, 0) { // Unbounded
		iv.Low, iv.High = math.NaN(), math.NaN()
	}
	return iv
}

// drifts returns how the load went on from the first period of each pair to the second, judged by the pairs
// before and after it; nil where the study names no load, or it is t's own, or not known.
//
// Not the load of the pair's own two periods: where clients wait for answers (a closed loop), a slower level is asked
// less, and what is adjusted for its own consequence is biased. The mean of a pair has the level once, whichever
// way its coin fell, so that its coin moves no mean.
func (r *record) drifts(t *table) []float64 {
	const fewest = 6 // of fewer, a line, a mean and an effect explain almost all, whatever they are of
	if t.loads == nil || t.response.Name == r.x.Design.Load || len(t.rows) < fewest {
		return nil
	}
	out := make([]float64, len(t.rows))
	for i := range t.rows {
		a, b := max(i-1, 0), min(i+1, len(t.rows)-1)
		out[i] = (t.loads[b].mean - t.loads[a].mean) / (t.loads[b].at() - t.loads[a].at()) *
			(t.loads[i].last - t.loads[i].first)
	}
	for _, v := range out {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return out
}

// load is what was asked of the service in a pair.
type load struct {
	mean        float64 // logarithm
	first, last float64 // the middles of its periods, seconds
}

func (l load) at() float64 { return (l.first + l.last) / 2 }

// loads returns that of each pair, where the study adjusts for it. at is block -> row.
func (r *record) loads(used []*result.Run, at map[int]int) (loads []load, warning string) {
	if r.x.Design.Load == "" || len(at) == 0 {
		return nil, ""
	}
	n := make([]int, len(at))
	loads = make([]load, len(at))
	for _, run := range used {
		v, ok := run.Values[r.x.Design.Load]
		if !ok || !(v > 0) {
			return nil, fmt.Sprintf("nothing is adjusted for %s: not every period of %s has it", r.x.Design.Load,
				screen.Count(len(at), "pair"))
		}
		row, middle := at[run.Block], run.Start.Sub(used[0].Start).Seconds()+run.Seconds/2
		l := &loads[row]
		if n[row] == 0 {
			l.first, l.last = middle, middle
		}
		n[row]++
		l.mean, l.first, l.last = l.mean+math.Log(v), min(l.first, middle), max(l.last, middle)
	}
	for i := range loads {
		loads[i].mean /= float64(n[i])
	}
	return loads, ""
}

// unsettledMost is the share of an effect of which it is not worth to speak.
const unsettledMost = 0.03

// unsettledGuess is the time constant, in s, that is spoken of where none was found: the pilot sees those up to it.
const unsettledGuess = 120

// unsettled says by how much effects look smaller at most, where periods began before the service had settled, or where
// nothing tells how fast it does; "": not worth speaking of.
//
// After a change, exp(-t/tau) of the effect is not there yet. A period that is measured from t = w to w + l lacks the
// mean of that, m. Where the levels alternate, each period starts from what the one before has left of its own, so that
// 2 m/(1 + exp(-(w+l)/tau)) of an effect is hidden; where one level follows on itself, less.
func unsettled(x *result.Experiment, used []*result.Run) string {
	tau := 0.0
	for _, r := range used {
		tau = max(tau, r.SettlesIn)
	}
	known := tau > 0
	if !known {
		tau = unsettledGuess
	}
	hidden, n := 0.0, 0.0
	for _, r := range used {
		if r.Harm != "" || r.Seconds <= 0 {
			continue
		}
		m := tau / r.Seconds * math.Exp(-r.Waited/tau) * -math.Expm1(-r.Seconds/tau)
		hidden += 2 * m / (1 + math.Exp(-(r.Waited+r.Seconds)/tau))
		n++
	}
	hidden /= n
	begins := fmt.Sprintf("the service settles with a time constant of up to %s, and periods began before it had: effects",
		result.Format(tau, "s"))
	switch {
	case n == 0, x.Design.Kind != result.Switchback, known && hidden <= unsettledMost:
		return ""
	case !known:
		begins = fmt.Sprintf("how fast the service settles is not known; if its time constant is %s, effects",
			result.Format(tau, "s"))
	}
	return fmt.Sprintf("%s look smaller by up to %s of themselves, and their intervals do not allow for it; in a copy of "+
		"the study, set settle to %s", begins, result.Percent(hidden, 0), result.Format(math.Ceil(4*tau/60)*60, "s"))
}
