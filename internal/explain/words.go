// Package show prints where a database's time goes: for a terminal and as a page.
package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// rows is how many events are shown; the JSON document has all.
const rows = 10

// Sentences returns the answer: the parts of the time, then what a log device could give.
func Sentences(r *Report) []string {
	if r.Busy <= 0 {
		if r.Hidden {
			return []string{fmt.Sprintf("Unknown: this user sees no session of %s %s that did anything, and those of others do not show.", r.Vendor, r.Version)}
		}
		if r.Elapsed <= 0 {
			return []string{fmt.Sprintf("Nothing ran: no client was seen at %s %s in %s.", r.Vendor, r.Version, result.Format(r.Wall, "s"))}
		}
		return []string{fmt.Sprintf("Nothing ran: %s of %s %s all waited for their clients for %s.", sessions(r), r.Vendor, r.Version, result.Format(r.Wall, "s"))}
	}
	var parts []string
	for _, name := range leading(r) {
		if p := r.Part(name); name != Idle && p.Seconds/r.Busy >= 0.005 {
			parts = append(parts, share(p.Seconds/r.Busy)+" "+name.Title())
		}
	}
	out := []string{fmt.Sprintf("Of the busy time of %s: %s.", sessions(r), strings.Join(parts, ", "))}
	if s := logSentence(r); s != "" {
		out = append(out, s)
	}
	if p := r.Part(Idle); p.Share.Value >= 0.005 {
		out = append(out, fmt.Sprintf("The sessions were idle between transactions for %s of all time.", share(p.Share.Value)))
	}
	return out
}

// crowded is the share of busy time from which on the wait for a CPU leads: it lengthens all
// others.
const crowded = 0.05

// leading are all parts in the order in which they are printed.
func leading(r *Report) []PartName {
	if p := r.Part(RunQueue); p.Seconds >= crowded*r.Busy {
		rest := slices.DeleteFunc(slices.Clone(PartNames), func(n PartName) bool { return n == RunQueue })
		return append([]PartName{RunQueue}, rest...)
	}
	return PartNames
}

// logSentence is what the log device could give.
func logSentence(r *Report) string {
	for _, b := range r.Bounds {
		if b.Lever == LogDevice && b.Reason == "" {
			s := fmt.Sprintf("A faster log device can save at most %s of it, most likely %s", share(b.AtMost), share(b.Likely))
			if r.Part(Idle).Share.Value >= 0.005 {
				s += fmt.Sprintf(". Counted from one transaction to the next, pauses included, that is at most %s", share(b.CycleAtMost))
			}
			return s + "."
		}
	}
	return ""
}

// sessions is how many there were in the mean.
func sessions(r *Report) string {
	n := r.Elapsed / r.Wall
	if math.Abs(n-math.Round(n)) < 0.05 {
		return screen.Count(int(math.Round(n)), "session")
	}
	return fmt.Sprintf("%.1f sessions", n)
}

func share(v float64) string {
	switch p := 100 * v; {
	case p == 0:
		return "0 %"
	case p < 0.05:
		return "<0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// interval is that of a share; a counted one has none.
func interval(e result.Estimate) string {
	if e.High-e.Low < 1e-9 {
		return "counted"
	}
	return e.Percent().Interval()
}

// busy is a share of elapsed time as one of busy time; that of Idle stays one of
// elapsed time.
func busy(r *Report, part PartName, e result.Estimate) result.Estimate {
	if part != Idle && r.Busy > 0 {
		f := r.Elapsed / r.Busy
		e.Value, e.Low, e.High = min(1, e.Value*f), min(1, e.Low*f), min(1, e.High*f)
	}
	return e
}

// seconds writes a time, and zero as one.
func seconds(v float64) string {
	if v == 0 {
		return "0 s"
	}
	return result.Format(v, "s")
}

// known writes a time that may be unknown.
func known(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return seconds(*v)
}

// logPairs is the log's account.
func logPairs(r *Report) (out document.Pairs) {
	l := &r.Log
	add := func(label, text string) { out = append(out, document.Pair{Name: label, Value: text}) }
	rate := func(n int64) string { return fmt.Sprintf("%d (%s)", n, result.Format(float64(n)/r.Wall, "1/s")) }
	if l.Source == "" {
		add("account", "none: this server does not count log writes")
		return out
	}
	if l.Writes >= 0 {
		add("writes", rate(l.Writes))
	}
	if l.Syncs >= 0 {
		add("syncs", rate(l.Syncs))
	}
	none := l.Writes == 0 && l.Syncs <= 0
	switch {
	case l.Bytes > 0 && none:
		// A server counts what it makes, and writes it when a session waits for it.
		add("made", result.Format(float64(l.Bytes), "B")+", none of it written meanwhile")
	case l.Bytes >= 0:
		add("written", fmt.Sprintf("%s (%s/s)", result.Format(float64(l.Bytes), "B"), result.Format(float64(l.Bytes)/r.Wall, "B")))
	}
	switch {
	case l.Average != nil:
		add("average", seconds(*l.Average)+" a log write with its sync, the mean"+stretches(l))
	case none:
		add("average", "unknown: there was no log write")
	case l.Untimed != "":
		add("average", "unknown: "+l.Untimed)
	default:
		add("average", "unknown: this server does not report how long log writes take")
	}
	switch {
	case r.Transactions >= 0:
		text := rate(r.Transactions)
		if n := r.each(r.Busy); n != nil {
			text += ", " + seconds(*n) + " busy time each"
		} else if r.Transactions > 0 {
			text += " of sessions that did not show: the server's own, others' or short ones"
		}
		if r.TransactionsHigh > 0 {
			text += fmt.Sprintf("; not counted: taken from commits; at most there were %d", r.TransactionsHigh)
		}
		add("transactions", text)
	case r.TransactionsHigh > 0:
		add("transactions", fmt.Sprintf("from %d to %d: the server does not count them", r.TransactionsLow, r.TransactionsHigh))
	}
	add("source", l.Source)
	return out
}

// stretches says how the mean of a log write changed: a median of single ones would hide
// two modes of a device, which the mean pays for. Servers count no single ones.
func stretches(l *Log) string {
	n := len(l.Stretches)
	if n < 2 {
		return ""
	}
	s := fmt.Sprintf("; over %d stretches %s to %s", n, seconds(slices.Min(l.Stretches)), seconds(slices.Max(l.Stretches)))
	if first, last := stat.Mean(l.Stretches[:n/2], nil), stat.Mean(l.Stretches[n-n/2:], nil); first > 0 {
		s += fmt.Sprintf(", second half %.2f times the first", last/first)
	}
	return s
}

// evidence says what it rests on.
func evidence(r *Report) string {
	s := fmt.Sprintf("measured: %d samples, one every %s in the mean, and counters, over %s", r.Samples, seconds(r.Interval), result.Format(r.Wall, "s"))
	if r.CostAtMost {
		return s + fmt.Sprintf("; asking took at most %s of one CPU: the time until answers came, as the server's CPU time does not show", share(r.Cost))
	}
	return s + fmt.Sprintf("; asking took %s of one CPU", share(r.Cost))
}

// measured writes a gain.
func measured(b *Bound) string {
	if !b.Gain.Known() {
		return "not measured"
	}
	return fmt.Sprintf("%s, %s", b.Gain.Percent(), b.Gain.Evidence)
}

// What the tables of parts and of bounds mean.
const (
	idleNote   = "Idle: waits for the client between transactions, which are no busy time; within one they are the application's."
	boundsNote = "Levers are in the order of the database's time that they touch, the application's last. " +
		"Share, likely and at most are of busy time, which is time within transactions; of cycle is at most, of the time with the pauses between them. " +
		"Likely: what the lever touches takes no time at all, and waits for locks shrink with the time for which they are held. " +
		"At most: the upper end of the interval, and what is unexplained where the part was sampled. " +
		"Waits for locks add up to what the part takes, once for each other session."
)

// boundNotes say what the table of bounds leaves open: where gains were measured, or
// how to.
func boundNotes(r *Report) (notes []string) {
	type group struct {
		why    string
		levers []string
	}
	var open []group // by why
	for _, b := range r.Bounds {
		title, _ := leverTitle(b.Lever)
		switch {
		case b.Gain.Known():
			s := title + ": " + b.GainSource + "; 95 % interval, n in blocks."
			if b.Reason == "" && b.Gain.Low > b.AtMost {
				s += " That is more than this server can have: that job waits for more of its time."
			}
			notes = append(notes, s)
		case b.Unmeasured != "":
			i := slices.IndexFunc(open, func(g group) bool { return g.why == b.Unmeasured })
			if i < 0 {
				i, open = len(open), append(open, group{why: b.Unmeasured})
			}
			open[i].levers = append(open[i].levers, title)
		}
	}
	for _, g := range open {
		notes = append(notes, strings.Join(g.levers, "; ")+": not measured; "+g.why+".")
	}
	return notes
}
