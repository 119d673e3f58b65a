package explain

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"hostlab/internal/document"
	"hostlab/internal/picture"
)

// Document returns a report as every format prints it, and what it is compared with where
// that is not nil.
func Document(r *Report, c *Comparison) *document.Document {
	d := &document.Document{Name: "explain", Title: "Where the time of " + r.Vendor + " goes", Warnings: r.Warnings, Data: r.Complete(), Footer: "Intervals: " + r.Method,
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
		add("Parts", parts(r), document.Figure{Figure: picture.Figure{Title: "Parts of the elapsed time", Wide: true, SVG: bars(r, c),
			Note: "Bars are shares of the time of all sessions, whiskers their 95 % intervals where they were sampled."}})
	}
	add("What each lever could give at most", bounds(r)...)
	if t := events(r); len(t.Rows) > 0 {
		add("Events, in the server's words and ours", t)
	}
	add("Log", logPairs(r))
	if c != nil {
		add("Before and after", comparison(c)...)
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
		of, ci := share(busy(r, name, p.Share)), interval(busy(r, name, p.Low), busy(r, name, p.High))
		switch name {
		case Idle:
			of, ci = "-", share(p.Share)+" of all"
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
		if e.Part == Idle || e.Seconds <= 0 && e.High <= 0 {
			continue
		}
		count, average := "-", "-"
		if e.Count >= 0 {
			count = fmt.Sprint(e.Count)
		}
		if e.Average != nil {
			average = seconds(*e.Average)
		}
		t.Rows = append(t.Rows, row(breakable(e.Name, 22), share(busy(r, e.Part, e.Share)), count, average, strings.TrimSuffix(e.Part.Title()+": "+e.Meaning, ": ")))
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
		title, what := LeverTitle(b.Lever)
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

func comparison(c *Comparison) (out []document.Block) {
	if len(c.Warnings) > 0 {
		out = append(out, document.Points(c.Warnings...))
	}
	recording := func(name string, r *Report) document.Pair {
		return document.Pair{Name: name, Value: r.Started.Format("2006-01-02 15:04:05") + ", " + seconds(r.Wall) + ", " + sessions(r)}
	}
	out = append(out, document.Pairs{recording("before", c.Before), recording("after", c.After)})
	table := func(first string, changes []Change) *document.Table {
		t := &document.Table{Columns: document.Headings(first, "before", "after", "a transaction before", "after"), Most: rows}
		for _, x := range changes {
			t.Rows = append(t.Rows, row(breakable(x.Name, 24), share(x.Before), share(x.After), known(x.PerBefore), known(x.PerAfter)))
		}
		return t
	}
	parts := table("part", c.Parts)
	parts.Lead = "Shares of busy time. Two recordings, not an experiment: no interval, and what else changed between them is in it. 'hostlab run log-device' separates that."
	parts.Rows = append(parts.Rows, row("a transaction in all", "", "", known(c.Before.PerTransaction()), known(c.After.PerTransaction())),
		row("average log write", "", "", known(c.Before.Log.Average), known(c.After.Log.Average)))
	return append(out, parts, table("event", c.Events))
}

// bars draws parts as bars with their intervals; those of a recording before stand
// above, thinner.
func bars(r *Report, c *Comparison) template.HTML {
	const left, right, pitch, top = 130.0, 640.0, 34.0, 8.0
	s := &picture.SVG{ID: "parts", W: 720, H: top + pitch*float64(len(r.Parts)) + 40, Wide: true}
	x := func(v float64) float64 { return left + (right-left)*min(1, max(0, v)) }
	bottom := top + pitch*float64(len(r.Parts))
	for _, v := range picture.Ticks(0, 1) {
		s.Line(x(v), top, x(v), bottom, "grid")
		s.Text(x(v), bottom+18, "middle", "", share(v))
	}
	title := ""
	for i, p := range r.Parts {
		y := top + pitch*float64(i)
		s.Text(left-10, y+pitch/2+4, "end", "name", p.Name.Title())
		text := p.Name.Title() + ": " + share(p.Share) + " (" + interval(p.Low, p.High) + ")"
		height, at := 18.0, y+8
		if c != nil && c.Before.Elapsed > 0 {
			before := c.Before.Part(p.Name)
			s.Rect(left, y+4, x(before.Share)-left, 7, "s1", "before: "+share(before.Share))
			height, at = 14, y+13
			text += ", before " + share(before.Share)
		}
		s.Rect(left, at, x(p.Share)-left, height, "bar", text)
		if p.High > p.Low {
			s.Line(x(p.Low), at+height/2, x(p.High), at+height/2, "none")
		}
		s.Text(x(max(p.Share, p.High))+8, at+height/2+4, "start", "name", share(p.Share))
		title += text + ". "
	}
	return s.Done("Parts of the elapsed time", title)
}
