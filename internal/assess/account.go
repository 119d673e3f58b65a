package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Where says which server was asked.
func (m *Minute) Where() []string {
	if !m.Connected {
		return nil
	}
	return []string{m.Report.Vendor + " " + m.Report.Version + ", " + m.Report.Target}
}

// Product is the service's name and version, as far as they are known.
func (m *Minute) Product() string {
	name, version := m.Service.Name, m.Version
	if m.Connected {
		name, version = cmp.Or(m.Report.Vendor, name), cmp.Or(m.Report.Version, version)
	}
	// what a packager adds; or words
	if version, _, _ = strings.Cut(version, " "); strings.Trim(version, "0123456789.") == version {
		version = ""
	}
	return strings.TrimSpace(name + " " + version)
}

// rows is how many events are shown; the JSON document has all.
const rows = 10

func events(r *explain.Report) *document.Table {
	t := &document.Table{Columns: append(document.Headings("event", "of active time", "waits", "average"),
		document.Column{Head: "part: meaning"}), Most: rows,
		Lead: "Where waits is -, the event was sampled, not counted."}
	for _, e := range r.Events {
		if e.Part == explain.Idle || e.Seconds <= 0 && e.Share.High <= 0 {
			continue
		}
		count, average := "-", "-"
		if e.Count >= 0 {
			count = fmt.Sprint(e.Count)
		}
		if e.Average != nil {
			average = seconds(*e.Average)
		}
		t.Add(document.Texts(breakable(e.Name, 22), result.Share(min(1, e.Seconds/max(r.Busy, 1e-9))), count, average,
			strings.TrimSuffix(e.Part.Title()+": "+e.Meaning, ": "))...)
	}
	return t
}

// breakable lets a long name of a wait break where its parts meet.
func breakable(name string, width int) string {
	if utf8.RuneCountInString(name) <= width || strings.Contains(name, " ") {
		return name
	}
	return strings.Replace(name, ":", ": ", 1)
}

// comparison puts two recordings side by side: shares of busy time, and where transactions
// were counted, seconds a transaction, which alone says whether something has become faster.
func comparison(before, after *explain.Report) (out []document.Block) {
	if notes := differences(before, after); len(notes) > 0 {
		out = append(out, document.Points(notes...))
	}
	recording := func(name string, r *explain.Report) document.Pair {
		return document.Pair{Name: name, Value: r.Started.Format("2006-01-02 15:04:05") + ", " + seconds(r.Wall) + ", " +
			inMean(r)}
	}
	out = append(out, document.Pairs{recording("before", before), recording("after", after)})
	table := func(first string) *document.Table {
		return &document.Table{Columns: document.Headings(first, "before", "after", "per transaction before", "after"),
			Most: rows}
	}
	change := func(t *document.Table, name string, b, a float64) {
		t.Add(document.Texts(breakable(name, 24), result.Share(b/max(before.Busy, 1e-9)),
			result.Share(a/max(after.Busy, 1e-9)),
			known(eachOf(before, b)), known(eachOf(after, a)))...)
	}
	parts, waits := table("part"), table("event")
	bars := &document.Bars{Full: true, Table: parts, Rows: []document.Bar{{Name: "before"}, {Name: "after"}},
		Lead: "Two recordings, not an experiment: other changes between them count, too. 'hostlab run log-device' " +
			"separates those. Bars show the time per transaction if both recordings have it, else shares of active time."}
	for _, name := range explain.PartNames {
		b, a := before.Part(name).Seconds, after.Part(name).Seconds
		if name == explain.Idle || b+a <= 0 {
			continue
		}
		change(parts, name.Title(), b, a)
		for i, r := range []*explain.Report{before, after} {
			v := []float64{b, a}[i]
			g := document.Segment{Class: name.Class(), Name: name.Title(), Value: v / max(r.Busy, 1e-9),
				Text: result.Share(v / max(r.Busy, 1e-9))}
			if before.Transactions > 0 && after.Transactions > 0 {
				g.Value, g.Text = v/float64(r.Transactions), known(eachOf(r, v))
			}
			bars.Rows[i].Segments = append(bars.Rows[i].Segments, g)
		}
	}
	parts.Add(document.Texts("all parts, per transaction", "", "", known(eachOf(before, before.Busy)),
		known(eachOf(after, after.Busy)))...)
	parts.Add(document.Texts("average log write", "", "", known(before.Log.Average), known(after.Log.Average))...)
	seen := map[[2]string]bool{}
	for _, e := range slices.Concat(before.Events, after.Events) {
		key := [2]string{string(e.Part), e.Name}
		if !seen[key] && e.Part != explain.Idle {
			change(waits, e.Name, event(before, e), event(after, e))
		}
		seen[key] = true
	}
	return append(out, bars, waits)
}

// eachOf is what a transaction has of a time, in s; unknown where none was seen.
func eachOf(r *explain.Report, seconds float64) *float64 {
	if r.Transactions <= 0 || r.Busy <= 0 {
		return nil
	}
	return result.Finite(seconds / float64(r.Transactions))
}

// event is the time of one that is called as another is, in s.
func event(r *explain.Report, e explain.Event) float64 {
	i := slices.IndexFunc(r.Events, func(x explain.Event) bool { return x.Name == e.Name && x.Part == e.Part })
	if i < 0 {
		return 0
	}
	return r.Events[i].Seconds
}

// differences are what keeps two recordings from being compared.
func differences(before, after *explain.Report) (out []string) {
	if before.Vendor != after.Vendor || before.Version != after.Version {
		out = append(out, fmt.Sprintf("different servers: %s %s before, %s %s after",
			before.Vendor, before.Version, after.Vendor, after.Version))
	}
	if before.Target != after.Target {
		out = append(out, fmt.Sprintf("different targets: %s before, %s after", before.Target, after.Target))
	}
	for i, r := range []*explain.Report{before, after} {
		name := "the recording " + []string{"before", "after"}[i]
		if r.Ended != "" {
			out = append(out, name+" ended early: "+r.Ended)
		}
		if r.Busy == 0 {
			out = append(out, "in "+name+" nothing ran")
		}
	}
	return out
}

// inMean is how many there were in the mean.
func inMean(r *explain.Report) string {
	n := r.Elapsed / r.Wall
	if math.Abs(n-math.Round(n)) < 0.05 {
		return screen.Count(int(math.Round(n)), "session")
	}
	return fmt.Sprintf("%.1f sessions", n)
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
func logPairs(r *explain.Report) (out document.Pairs) {
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
		add("made", result.Format(float64(l.Bytes), "B")+", none of it written in this time")
	case l.Bytes >= 0:
		add("written", fmt.Sprintf("%s (%s/s)", result.Format(float64(l.Bytes), "B"),
			result.Format(float64(l.Bytes)/r.Wall, "B")))
	}
	switch {
	case l.Average != nil:
		add("average", seconds(*l.Average)+" per log write with its sync"+stretches(l))
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
		if n := eachOf(r, r.Busy); n != nil {
			text += ", " + seconds(*n) + " active time each"
		} else if r.Transactions > 0 {
			text += " in sessions that were not seen: the server's own, other users' or short ones"
		}
		if r.TransactionsHigh > 0 {
			text += fmt.Sprintf("; estimated from commits, at most %d", r.TransactionsHigh)
		}
		add("transactions", text)
	case r.TransactionsHigh > 0:
		add("transactions", fmt.Sprintf("from %d to %d: the server has no count of them alone", r.TransactionsLow,
			r.TransactionsHigh))
	}
	add("source", l.Source)
	return out
}

// stretches says how the mean of a log write changed: a median of single ones would hide
// two modes of a device, which the mean pays for. Servers count no single ones.
func stretches(l *explain.Log) string {
	n := len(l.Stretches)
	if n < 2 {
		return ""
	}
	s := fmt.Sprintf("; in %d stretches of time %s to %s", n, seconds(slices.Min(l.Stretches)),
		seconds(slices.Max(l.Stretches)))
	if first, last := stat.Mean(l.Stretches[:n/2], nil), stat.Mean(l.Stretches[n-n/2:], nil); first > 0 {
		s += fmt.Sprintf(", the second half %.2f times the first", last/first)
	}
	return s
}

// evidence says what it rests on.
func evidence(r *explain.Report) string {
	s := fmt.Sprintf("measured for %[3]s from counters and %[1]d samples, one every %[2]s on average", r.Samples,
		seconds(r.Interval),
		result.Format(r.Wall, "s"))
	if r.Looks > 0 {
		s += fmt.Sprintf("; %d samples are looks at its processes, and it was asked %d times", r.Looks, r.Questions)
	}
	if r.CostAtMost {
		return s + fmt.Sprintf("; watching cost at most %s of one CPU, the time until the server answered",
			result.Share(r.Cost))
	}
	return s + fmt.Sprintf("; watching cost %s of one CPU", result.Share(r.Cost))
}
