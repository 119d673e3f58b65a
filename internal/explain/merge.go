package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Merged is how intervals of several recordings come about, in a sentence.
const Merged = "95 % intervals by how the recordings differ from each other (ratio estimator, Student). What was never seen has the " +
	"exact upper limit for the number of samples (Clopper and Pearson)"

// leastApart is how many recordings have an interval by their differences; of fewer, it holds all of theirs.
const leastApart = 4

// Merge is the account of recordings of one server together, as if one had lasted as long as all of them. list is not
// empty.
func Merge(list []Report) Report {
	last := list[len(list)-1]
	out := Report{Tool: last.Tool, Vendor: last.Vendor, Version: last.Version, Target: last.Target,
		Started: list[0].Started,
		Method:  Merged, Log: mergedLogs(list)}
	var cost, active float64
	seen, told := 0, true
	for i := range list {
		r := &list[i]
		out.Wall, out.Elapsed, out.Busy, out.Untold = out.Wall+r.Wall, out.Elapsed+r.Elapsed, out.Busy+r.Busy,
			out.Untold+r.Untold
		out.Peak, out.Samples = max(out.Peak, r.Peak), out.Samples+r.Samples
		out.Looks, out.Questions = out.Looks+r.Looks, out.Questions+r.Questions
		cost += r.Cost * r.Wall
		out.Unlooked += r.Unlooked
		out.Late = max(out.Late, r.Late) // what one lacks, the next has
		out.CostAtMost, out.Hidden = out.CostAtMost || r.CostAtMost, out.Hidden || r.Hidden
		if told = told && r.Seen != nil; told {
			seen += *r.Seen
		}
		if r.Active != nil {
			active += *r.Active
			out.Active = &active
		}
		out.Missing, out.Warnings = added(out.Missing, r.Missing), added(out.Warnings, r.Warnings)
		out.Course = append(out.Course, Stretch{Seconds: r.Wall, Parts: secondsOf(r), Transactions: r.Transactions})
		for event, s := range r.Sampled {
			if out.Sampled == nil {
				out.Sampled = map[string]float64{}
			}
			out.Sampled[event] += s
		}
	}
	if told {
		out.Seen = &seen
	}
	if out.Samples > 0 {
		out.Interval = out.Wall / float64(out.Samples)
	}
	out.Cost = cost / max(out.Wall, 1e-9)
	out.transactions(list)
	out.parts(list)
	out.events(list)
	out.named(list)
	out.whole(list)
	out.Course = joined(out.Course)
	out.late()
	out.unlooked()
	return out
}

// added are the texts of both, each once.
func added(to, more []string) []string {
	for _, s := range more {
		if !slices.Contains(to, s) {
			to = append(to, s)
		}
	}
	return to
}

func secondsOf(r *Report) map[PartName]float64 {
	out := map[PartName]float64{}
	for _, p := range r.Parts {
		out[p.Name] = p.Seconds
	}
	return out
}

// joined are at most Stretches of them, neighbours put together.
func joined(all []Stretch) (out []Stretch) {
	n := min(len(all), Stretches)
	for i, s := range all {
		if at := i * n / len(all); at == len(out) {
			out = append(out, s)
		} else {
			to := &out[at]
			to.Seconds += s.Seconds
			for name, v := range s.Parts {
				to.Parts[name] += v
			}
			to.Transactions = plus(to.Transactions, s.Transactions)
		}
	}
	return out
}

// plus adds counts of which -1 is unknown.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func (r *Report) transactions(list []Report) {
	told := true
	for i := range list {
		x := &list[i]
		told = told && (x.Transactions >= 0 || x.TransactionsHigh > 0)
		low, high := x.TransactionsLow, x.TransactionsHigh
		if high == 0 && x.Transactions > 0 {
			low, high = x.Transactions, x.Transactions
		}
		r.Transactions, r.TransactionsLow, r.TransactionsHigh = plus(r.Transactions, x.Transactions), r.TransactionsLow+low,
			r.TransactionsHigh+high
	}
	if !told || r.TransactionsLow == r.Transactions && r.TransactionsHigh == r.Transactions { // counted in all of them
		r.TransactionsLow, r.TransactionsHigh = 0, 0
	}
}

// shareOf estimates a share of the elapsed time from what each recording has of it.
func shareOf(list []Report,
	of func(*Report) (seconds float64, share result.Estimate)) (seconds float64, e result.Estimate) {
	var x, all []float64
	var busy, wall float64
	e = result.Estimate{Low: 1, Evidence: result.Measured}
	for i := range list {
		s, share := of(&list[i])
		e.N += share.N
		busy, wall = busy+list[i].Busy, wall+list[i].Wall
		if list[i].Elapsed > 0 {
			x, all = append(x, s), append(all, list[i].Elapsed)
			e.Low, e.High = min(e.Low, share.Low), max(e.High, share.High)
		}
	}
	seconds = floats.Sum(x)
	elapsed := floats.Sum(all)
	switch {
	case elapsed <= 0:
		return seconds, result.Estimate{}
	case seconds == 0 && e.N > 0:
		e.Low, e.High = 0, neverSeen(float64(e.N), busy, wall, elapsed)
	case len(x) >= leastApart:
		by := stats.RatioOfSums(merge(x), merge(all), 0.05) // neighbours hold the same information twice
		e.Low, e.High = max(0, by.Low), min(1, by.High)
	}
	e.Value = seconds / elapsed
	e.Low, e.High = min(e.Low, e.Value), max(e.High, e.Value)
	return seconds, e
}

func (r *Report) parts(list []Report) {
	for _, name := range PartNames {
		p := Part{Name: name}
		p.Seconds, p.Share = shareOf(list, func(x *Report) (float64, result.Estimate) {
			one := x.Part(name)
			p.Within += one.Within
			p.Source = cmp.Or(p.Source, one.Source)
			return one.Seconds, one.Share
		})
		if p.Source != "" || p.Seconds > 0 {
			r.Parts = append(r.Parts, p)
		}
	}
}

func (r *Report) events(list []Report) {
	at := map[string]int{}
	for i := range list {
		for _, e := range list[i].Events {
			key := string(e.Part) + "/" + e.Name
			if _, known := at[key]; !known {
				at[key] = len(r.Events)
				r.Events = append(r.Events, Event{Name: e.Name, Meaning: e.Meaning, Part: e.Part, Source: e.Source})
			}
		}
	}
	for i := range r.Events {
		e, waited := &r.Events[i], 0.0
		e.Seconds, e.Share = shareOf(list, func(x *Report) (float64, result.Estimate) {
			k := slices.IndexFunc(x.Events, func(o Event) bool { return o.Name == e.Name && o.Part == e.Part })
			if k < 0 {
				return 0, result.Estimate{N: x.Samples}
			}
			one := x.Events[k]
			e.Count = plus(e.Count, one.Count)
			if one.Average != nil {
				waited += *one.Average * float64(one.Count)
			}
			return one.Seconds, one.Share
		})
		if e.Count > 0 && waited > 0 {
			e.Average = result.Finite(waited / float64(e.Count))
		}
	}
	slices.SortStableFunc(r.Events, func(a, b Event) int { return cmp.Compare(b.Seconds, a.Seconds) })
}

// mergedLogs add up the log's accounts.
func mergedLogs(list []Report) Log {
	out := Log{Source: list[len(list)-1].Log.Source}
	var waited, n, seconds float64
	timed := false
	for i := range list {
		l := &list[i].Log
		out.Writes, out.Syncs, out.Bytes = plus(out.Writes, l.Writes), plus(out.Syncs, l.Syncs), plus(out.Bytes, l.Bytes)
		out.Untimed = cmp.Or(out.Untimed, l.Untimed)
		if l.Seconds != nil {
			seconds, timed = seconds+*l.Seconds, true
		}
		if l.Average != nil {
			writes := float64(max(l.Writes, l.Syncs, 1))
			if l.Seconds != nil && *l.Average > 0 {
				writes = *l.Seconds / *l.Average
			}
			waited, n = waited+*l.Average*writes, n+writes
			out.Stretches = append(out.Stretches, *l.Average)
		}
	}
	if timed {
		out.Seconds = result.Finite(seconds)
	}
	if n > 0 {
		out.Average, out.Untimed = result.Finite(waited/n), ""
	}
	if len(out.Stretches) > most { // the longest says most of a log
		every := int(math.Ceil(float64(len(out.Stretches)) / most))
		var longest []float64
		for c := range slices.Chunk(out.Stretches, every) {
			longest = append(longest, slices.Max(c))
		}
		out.Stretches = longest
	}
	return out
}

// named puts statements and blockers together, each share weighed by the time of what it is a share of.
func (r *Report) named(list []Report) {
	weigh := func(to *result.Estimate, e result.Estimate, seconds, all float64) {
		f := seconds / max(all, 1e-9)
		to.Value, to.Low, to.High, to.N = to.Value+f*e.Value, to.Low+f*e.Low, to.High+f*e.High, to.N+e.N
		to.Evidence = e.Evidence
	}
	statements, blockers := map[Statement]*Statement{}, map[Blocker]*Blocker{}
	locks := r.Part(Locks).Seconds
	for i := range list {
		x := &list[i]
		for _, s := range x.Statements {
			key := Statement{Part: s.Part, ID: s.ID, Kind: s.Kind}
			if statements[key] == nil {
				statements[key] = &Statement{Part: s.Part, ID: s.ID, Kind: s.Kind, Text: s.Text}
			}
			weigh(&statements[key].Share, s.Share, x.Part(s.Part).Seconds, r.Part(s.Part).Seconds)
		}
		for _, b := range x.Blockers {
			key := Blocker{Relation: b.Relation, Part: b.Part, Event: b.Event}
			to := blockers[key]
			if to == nil {
				to = &Blocker{}
				*to = b
				to.Share, to.Sessions = result.Estimate{}, 0
				blockers[key] = to
			}
			weigh(&to.Share, b.Share, x.Part(Locks).Seconds, locks)
			to.Still = b.Still
			to.Depth, to.Sessions = max(to.Depth, b.Depth), max(to.Sessions, b.Sessions)
			to.Alike = to.Alike && b.Alike && to.User == b.User && to.Application == b.Application
		}
		if v := x.Vacuum; v != nil {
			if r.Vacuum == nil {
				r.Vacuum = &Vacuum{}
			}
			*r.Vacuum = Vacuum{r.Vacuum.Looks + v.Looks, r.Vacuum.Watched + v.Watched, r.Vacuum.Seconds + v.Seconds,
				r.Vacuum.Running + v.Running}
		}
		if q := x.Queue; q != nil {
			if r.Queue == nil {
				r.Queue = &Queue{}
			}
			n := float64(max(r.Queue.Looks+q.Looks, 1))
			mean := func(a, b float64) float64 { return (a*float64(r.Queue.Looks) + b*float64(q.Looks)) / n }
			*r.Queue = Queue{mean(r.Queue.Waiting, q.Waiting), mean(r.Queue.Working, q.Working), r.Queue.Looks + q.Looks}
		}
	}
	for _, s := range statements {
		r.Statements = append(r.Statements, *s)
	}
	slices.SortFunc(r.Statements, func(a, b Statement) int {
		return cmp.Or(slices.Index(PartNames, a.Part)-slices.Index(PartNames, b.Part),
			cmp.Compare(b.Share.Value, a.Share.Value),
			cmp.Compare(a.ID, b.ID))
	})
	for _, b := range blockers {
		r.Blockers = append(r.Blockers, *b)
	}
	slices.SortFunc(r.Blockers, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(b.Share.Value, a.Share.Value), cmp.Compare(a.Relation, b.Relation),
			cmp.Compare(a.Event, b.Event))
	})
	count := map[PartName]int{}
	r.Statements = slices.DeleteFunc(r.Statements, func(s Statement) bool { count[s.Part]++; return count[s.Part] > top })
	r.Blockers = r.Blockers[:min(len(r.Blockers), 2*top)]
}

// whole adds up what the server counts as a whole, and copies.
func (r *Report) whole(list []Report) {
	for i := range list {
		if t := list[i].Totals; t != nil {
			if r.Totals == nil {
				r.Totals = &Totals{Grown: map[string]int64{}, Settings: maps.Clone(t.Settings), Levels: map[string]int64{}}
			}
			r.Totals.Seconds += t.Seconds
			for name, n := range t.Grown {
				r.Totals.Grown[name] += n
			}
			for name, n := range t.Levels {
				r.Totals.Levels[name] = max(r.Totals.Levels[name], n)
			}
			// of what changed, nothing speaks
			maps.DeleteFunc(r.Totals.Settings, func(name, v string) bool { return t.Settings[name] != v })
		}
		if c := list[i].Copies; c != nil {
			if r.Copies == nil {
				r.Copies = &Copies{}
			}
			*r.Copies = Copies{r.Copies.Count + c.Count, r.Copies.Seconds + c.Seconds, r.Copies.Bytes + c.Bytes,
				r.Copies.Device + c.Device,
				r.Copies.AtMost + c.AtMost}
		}
	}
}
