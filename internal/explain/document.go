package explain

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/document"
	"hostlab/internal/picture"
)

// Document returns a report as every format prints it, beside an earlier one where that is
// not nil.
func Document(r, before *Report) *document.Document {
	d := &document.Document{Name: "explain", Title: "Where the time of " + r.Vendor + " goes", Warnings: r.Warnings, Data: r, Footer: "Intervals: " + r.Method,
		About: []string{r.Vendor + " " + r.Version + ", " + r.Target, evidence(r)}}
	for i, s := range Sentences(r) {
		tone := document.Strong
		if i > 0 {
			tone = ""
		}
		d.Answer = append(d.Answer, document.Line{Text: s, Tone: tone})
	}
	if r.Ended != "" {
		d.Warnings = append([]string{"It ended early, after " + seconds(r.Wall) + ": " + r.Ended}, d.Warnings...)
	}
	add := func(title string, blocks ...document.Block) {
		d.Sections = append(d.Sections, document.Section{Title: title, Blocks: blocks})
	}
	if r.Elapsed > 0 {
		add("Parts", parts(r), document.Figure{Figure: picture.Figure{Title: "Parts of the elapsed time", SVG: bars(r, before),
			Note: "Lines are 95 % intervals of what was sampled."}})
	}
	add("What each lever could give at most", bounds(r)...)
	if t := events(r); len(t.Rows) > 0 {
		add("Events, in the server's words and ours", t)
	}
	add("Log", logPairs(r))
	if before != nil {
		add("Before and after", comparison(before, r)...)
	}
	if len(r.Missing) > 0 {
		add("Not seen", document.Points(r.Missing...))
	}
	return d
}

func row(cells ...string) (r document.Row) {
	for _, s := range cells {
		r.Cells = append(r.Cells, document.Text(s))
	}
	return r
}

func parts(r *Report) *document.Table {
	t := &document.Table{Columns: append(document.Headings("part", "time", "of busy", "95 % CI"), document.Column{Head: "source"}),
		Lead: fmt.Sprintf("Together %s: the time of %s over %s. %s", seconds(r.Elapsed), sessions(r), seconds(r.Wall), idleNote)}
	for _, name := range leading(r) {
		p := r.Part(name)
		if p.Source == "" {
			continue
		}
		e := busy(r, name, p.Share)
		of, ci := share(e.Value), interval(e)
		switch name {
		case Idle:
			of, ci = "-", share(e.Value)+" of all"
		case Unexplained:
			ci = "the rest"
		}
		t.Rows = append(t.Rows, row(name.Title(), seconds(p.Seconds), of, ci, p.Source))
	}
	return t
}

func events(r *Report) *document.Table {
	t := &document.Table{Columns: append(document.Headings("event", "of busy", "waits", "average"), document.Column{Head: "part: meaning"}), Most: rows,
		Lead: "Events without a number of waits were sampled."}
	for _, e := range r.Events {
		if e.Part == Idle || e.Seconds <= 0 && e.Share.High <= 0 {
			continue
		}
		count, average := "-", "-"
		if e.Count >= 0 {
			count = fmt.Sprint(e.Count)
		}
		if e.Average != nil {
			average = seconds(*e.Average)
		}
		t.Rows = append(t.Rows, row(breakable(e.Name, 22), share(busy(r, e.Part, e.Share).Value), count, average,
			strings.TrimSuffix(e.Part.Title()+": "+e.Meaning, ": ")))
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

func bounds(r *Report) []document.Block {
	if r.Busy <= 0 {
		if r.Hidden {
			return document.Lines("", "Unknown, as no session was seen that did anything.")
		}
		return document.Lines("", "Nothing, as nothing ran.")
	}
	t := &document.Table{Columns: append(document.Headings("lever", "share", "likely", "at most", "of cycle"), document.Column{Head: "measured"}), Lead: boundsNote}
	for _, b := range r.Bounds {
		title, what := leverTitle(b.Lever)
		s, likely, most, cycle := share(b.Share), share(b.Likely), share(b.AtMost), share(b.CycleAtMost)
		if b.Reason != "" {
			s, likely, most, cycle, what = "-", "-", "-", "-", b.Reason
		}
		t.Rows = append(t.Rows, row(title+" ("+what+")", s, likely, most, cycle, measured(&b)))
	}
	out := []document.Block{t}
	if notes := boundNotes(r); len(notes) > 0 {
		out = append(out, document.Points(notes...))
	}
	return out
}

// comparison puts two recordings side by side: shares of busy time, and where transactions
// were counted, seconds a transaction, which alone says whether something has become faster.
func comparison(before, after *Report) (out []document.Block) {
	if notes := differences(before, after); len(notes) > 0 {
		out = append(out, document.Points(notes...))
	}
	recording := func(name string, r *Report) document.Pair {
		return document.Pair{Name: name, Value: r.Started.Format("2006-01-02 15:04:05") + ", " + seconds(r.Wall) + ", " + sessions(r)}
	}
	out = append(out, document.Pairs{recording("before", before), recording("after", after)})
	table := func(first string) *document.Table {
		return &document.Table{Columns: document.Headings(first, "before", "after", "a transaction before", "after"), Most: rows}
	}
	change := func(name string, b, a float64) document.Row {
		return row(breakable(name, 24), share(b/max(before.Busy, 1e-9)), share(a/max(after.Busy, 1e-9)),
			known(before.each(b)), known(after.each(a)))
	}
	parts, waits := table("part"), table("event")
	parts.Lead = "Shares of busy time. Two recordings, not an experiment: no interval, and what else changed between them is in it. 'hostlab run log-device' separates that."
	for _, name := range PartNames {
		if b, a := before.Part(name).Seconds, after.Part(name).Seconds; name != Idle && b+a > 0 {
			parts.Rows = append(parts.Rows, change(name.Title(), b, a))
		}
	}
	parts.Rows = append(parts.Rows,
		row("a transaction in all", "", "", known(before.each(before.Busy)), known(after.each(after.Busy))),
		row("average log write", "", "", known(before.Log.Average), known(after.Log.Average)))
	seen := map[[2]string]bool{}
	for _, e := range slices.Concat(before.Events, after.Events) {
		key := [2]string{string(e.Part), e.Name}
		if !seen[key] && e.Part != Idle {
			waits.Rows = append(waits.Rows, change(e.Name, before.event(e), after.event(e)))
		}
		seen[key] = true
	}
	return append(out, parts, waits)
}

// event is the time of one that is called as another is, in s.
func (r *Report) event(e Event) float64 {
	i := slices.IndexFunc(r.Events, func(x Event) bool { return x.Name == e.Name && x.Part == e.Part })
	if i < 0 {
		return 0
	}
	return r.Events[i].Seconds
}

// differences are what keeps two recordings from being compared.
func differences(before, after *Report) (out []string) {
	if before.Vendor != after.Vendor || before.Version != after.Version {
		out = append(out, fmt.Sprintf("different servers: %s %s before, %s %s after",
			before.Vendor, before.Version, after.Vendor, after.Version))
	}
	if before.Target != after.Target {
		out = append(out, fmt.Sprintf("different targets: %s before, %s after", before.Target, after.Target))
	}
	for i, r := range []*Report{before, after} {
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

// bars draws parts with their intervals; those of a recording before stand above.
func bars(r, before *Report) template.HTML {
	var all []picture.Bar
	add := func(p Part, when string, series int) {
		name, of := p.Name.Title()+when, share(p.Share.Value)
		all = append(all, picture.Bar{Name: name, Below: of, Said: name + ": " + of + " (" + interval(p.Share) + ")",
			Value: p.Share.Value, Low: p.Share.Low, High: p.Share.High, Floor: math.NaN(), Series: series})
	}
	for _, p := range r.Parts {
		if before != nil && before.Elapsed > 0 {
			add(before.Part(p.Name), ", before", 1)
		}
		add(p, "", 0)
	}
	return picture.Bars("parts", "Parts of the elapsed time", all, 0, 1, share, "share of the time of all sessions")
}
