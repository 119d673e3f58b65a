package show

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/report/picture"
)

//go:embed web
var web embed.FS

var pageTemplate = picture.Template(web, "explain.html", template.FuncMap{})

// page is what the template shows.
type page struct {
	Page                         picture.Page
	Title, Sentence, Evidence    string
	Samples                      int
	Warnings, Missing            []string
	Figures                      []picture.Figure
	Parts, Events, Bounds, Log   picture.Table
	Compared                     bool
	ComparedParts, ComparedEvent picture.Table
	CompareWarnings              []string
	Method                       string
	Notes                        []string // on bounds
	IdleNote, BoundsNote         string
}

// WriteHTML writes one self-contained page, which loads nothing.
func WriteHTML(w io.Writer, r *explain.Report, c *explain.Comparison) error {
	css, err := web.ReadFile("web/explain.css")
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := r.Write(&data); err != nil {
		return err
	}
	var safe bytes.Buffer
	for _, b := range data.Bytes() { // as json.Marshal escapes, so that no text ends the script element
		switch b {
		case '<', '>', '&':
			fmt.Fprintf(&safe, `\u%04x`, b)
		default:
			safe.WriteByte(b)
		}
	}
	shell, err := picture.NewPage("Where the time goes: "+r.Vendor, css, safe.Bytes())
	if err != nil {
		return err
	}
	p := page{Page: shell, Title: r.Vendor + " " + r.Version + ", " + r.Target, Sentence: Sentence(r), Evidence: strings.TrimPrefix(evidence(r), "measured: "), Samples: r.Samples,
		Warnings: r.Warnings, Missing: r.Missing, Method: r.Method, Notes: boundNotes(r), IdleNote: idleNote, BoundsNote: boundsNote}
	if r.Ended != "" {
		p.Warnings = append([]string{"It ended early, after " + seconds(r.Wall) + ": " + r.Ended}, p.Warnings...)
	}
	p.tables(r)
	if r.Elapsed > 0 {
		p.Figures = append(p.Figures, picture.Figure{Title: "Parts of the elapsed time", Wide: true, SVG: bars(r, c),
			Note: "Bars are shares of the time of all sessions, whiskers their 95 % intervals where they were sampled."})
	}
	if c != nil {
		p.compare(c)
	}
	return picture.Render(w, pageTemplate, p)
}

func (p *page) tables(r *explain.Report) {
	p.Parts = picture.Table{Caption: "Parts of the time", Head: []string{"Part", "Time", "Of elapsed", "Of busy", "95 % interval, of elapsed", "Source"}}
	for _, name := range leading(r) {
		x := r.Part(name)
		if x.Source == "" {
			continue
		}
		of := share(busy(r, x.Name, x.Share))
		if x.Name == explain.Idle {
			of = "-"
		}
		p.Parts.Rows = append(p.Parts.Rows, []string{x.Name.Title(), seconds(x.Seconds), share(x.Share), of, pageInterval(r, x), x.Source})
	}
	p.Events = picture.Table{Caption: "Events", Head: []string{"Event", "Meaning", "Part", "Time", "Of busy", "Waits", "Average", "Source"}}
	for _, e := range r.Events {
		count, average := "-", "-"
		if e.Count >= 0 {
			count = fmt.Sprint(e.Count)
		}
		if e.Average.Known() {
			average = seconds(float64(e.Average))
		}
		of := eventShare(r, e)
		if e.Part == explain.Idle {
			of = "-"
		}
		p.Events.Rows = append(p.Events.Rows, []string{e.Name, e.Meaning, e.Part.Title(), seconds(e.Seconds), of, count, average, e.Source})
	}
	p.Bounds = picture.Table{Caption: "Bounds", Head: []string{"Lever", "Touches", "Time", "Share of busy", "Likely", "At most", "At most, of cycle", "Measured"}}
	for _, b := range r.Bounds {
		title, what := explain.LeverTitle(b.Lever)
		touches := ""
		for _, x := range b.Parts {
			touches = x.Title()
		}
		s, likely, most, cycle := share(b.Share), share(b.Likely), share(b.AtMost), share(b.CycleAtMost)
		if b.Reason != "" {
			s, likely, most, cycle = "-", "-", b.Reason, "-"
		}
		p.Bounds.Rows = append(p.Bounds.Rows, []string{title + " (" + what + ")", touches, seconds(b.Seconds), s, likely, most, cycle, measured(&b)})
	}
	p.Log = picture.Table{Caption: "The log's account", Head: []string{"What", "Figure"}}
	for _, l := range logLines(r) {
		p.Log.Rows = append(p.Log.Rows, []string{l[0], l[1]})
	}
}

// pageInterval is a part's interval as a share of elapsed.
func pageInterval(r *explain.Report, p explain.Part) string {
	if s := partInterval(r, p); s == "-" || p.Name == explain.Unexplained {
		return s
	}
	return interval(p.Low, p.High)
}

func (p *page) compare(c *explain.Comparison) {
	p.Compared, p.CompareWarnings = true, c.Warnings
	head := []string{"", "Share of busy, before", "After", "A transaction, before", "After"}
	line := func(x explain.Change) []string {
		return []string{x.Name, share(x.Before), share(x.After), perTransaction(x.PerBefore), perTransaction(x.PerAfter)}
	}
	p.ComparedParts = picture.Table{Caption: "Parts before and after", Head: head}
	for _, x := range c.Parts {
		p.ComparedParts.Rows = append(p.ComparedParts.Rows, line(x))
	}
	p.ComparedParts.Rows = append(p.ComparedParts.Rows,
		[]string{"a transaction in all", "", "", perTransaction(c.Before.PerTransaction()), perTransaction(c.After.PerTransaction())},
		[]string{"average log write", "", "", perTransaction(c.Before.Log.Average), perTransaction(c.After.Log.Average)})
	p.ComparedEvent = picture.Table{Caption: "Events before and after", Head: head}
	for _, x := range c.Events {
		p.ComparedEvent.Rows = append(p.ComparedEvent.Rows, line(x))
	}
}

// bars draws parts as bars with their intervals; those of a recording before stand
// above, thinner.
func bars(r *explain.Report, c *explain.Comparison) template.HTML {
	const left, right, pitch, top = 130.0, 640.0, 34.0, 8.0
	s := &picture.SVG{ID: "parts", W: 720, H: top + pitch*float64(len(r.Parts)) + 40, Wide: true}
	x := func(v float64) float64 { return left + (right-left)*min(1, max(0, v)) }
	bottom := top + pitch*float64(len(r.Parts))
	for _, v := range picture.Ticks(0, 1) {
		s.Line(x(v), top, x(v), bottom, "grid")
		s.Text(x(v), bottom+18, "middle", "", share(v))
	}
	says := ""
	for i, p := range r.Parts {
		y := top + pitch*float64(i)
		s.Text(left-10, y+pitch/2+4, "end", "name", p.Name.Title())
		said := p.Name.Title() + ": " + share(p.Share) + " (" + interval(p.Low, p.High) + ")"
		height, at := 18.0, y+8
		if c != nil && c.Before.Elapsed > 0 {
			before := c.Before.Part(p.Name)
			s.Rect(left, y+4, x(before.Share)-left, 7, "s1", "before: "+share(before.Share))
			height, at = 14, y+13
			said += ", before " + share(before.Share)
		}
		s.Rect(left, at, x(p.Share)-left, height, "bar", said)
		if p.High > p.Low {
			s.Line(x(p.Low), at+height/2, x(p.High), at+height/2, "none")
		}
		s.Text(x(max(p.Share, p.High))+8, at+height/2+4, "start", "name", share(p.Share))
		says += said + ". "
	}
	return s.Done("Parts of the elapsed time", says)
}
