package show

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hostlab/internal/explain"
	"hostlab/internal/screen"
)

// TextOptions say how WriteText lays out its lines.
type TextOptions struct {
	Width int // columns; 0 is 80
	Color bool
	Saved string // file that the recording went to, or ""
}

// WriteText prints a report, and what it is compared with where that is not nil.
func WriteText(w io.Writer, r *explain.Report, c *explain.Comparison, o TextOptions) error {
	t := &text{screen.NewPrinter(w, o.Width, o.Color)}
	t.Text("", screen.Bold, Sentence(r))
	if r.Ended != "" {
		t.Hang("! ", screen.Yellow, "It ended early, after "+seconds(r.Wall)+": "+r.Ended)
	}
	for _, s := range r.Warnings {
		if r.Busy <= 0 && strings.HasPrefix(s, "nothing ran") {
			continue // said above
		}
		if r.Hidden && r.Busy <= 0 && strings.HasPrefix(s, "nothing is known") {
			continue
		}
		t.Hang("! ", screen.Yellow, s)
	}
	t.Raw("")
	t.Hang("  server    ", "", r.Vendor+" "+r.Version+", "+r.Target)
	t.Hang("  evidence  ", "", evidence(r))
	t.parts(r)
	t.events(r)
	t.Head("log")
	for _, l := range logLines(r) {
		t.Hang("  "+screen.Pad(l[0], 14), "", l[1])
	}
	t.bounds(r)
	if c != nil {
		t.comparison(c)
	}
	if len(r.Missing) > 0 {
		t.Head("not seen")
		for _, m := range r.Missing {
			t.Hang("  - ", "", m)
		}
	}
	if o.Saved != "" {
		t.Raw("")
		t.Hang("Saved: ", "", o.Saved)
	}
	return t.Err()
}

type text struct{ *screen.Printer }

// table prints rows in columns that fit an 80-column screen.
func (t *text) table(width []int, rows [][]string) {
	styles := make([]string, len(rows))
	styles[0] = screen.Dim
	t.Table(width, rows, styles)
}

func (t *text) parts(r *explain.Report) {
	t.Head("parts")
	all := [][]string{{"part", "time", "of busy", "95 %", "source"}}
	for _, name := range leading(r) {
		p := r.Part(name)
		if p.Source == "" {
			continue
		}
		of := share(busy(r, p.Name, p.Share))
		if p.Name == explain.Idle {
			of = "-"
		}
		ci := partInterval(r, p)
		if p.Name == explain.Idle {
			ci = share(p.Share) + " of all"
		}
		all = append(all, []string{p.Name.Title(), seconds(p.Seconds), of, ci, p.Source})
	}
	t.table([]int{13, 8, 7, 14, t.Width - 54}, all)
	t.Text("  ", screen.Dim, fmt.Sprintf("Together %s: the time of %s over %s. %s", seconds(r.Elapsed), sessions(r), seconds(r.Wall), idleNote))
}

func (t *text) events(r *explain.Report) {
	var shown []explain.Event
	for _, e := range r.Events {
		if e.Part != explain.Idle && (e.Seconds > 0 || e.High > 0) {
			shown = append(shown, e)
		}
	}
	if len(shown) == 0 {
		return
	}
	t.Head("events, in the server's words and ours")
	all := [][]string{{"event", "of busy", "waits", "average", "part: meaning"}}
	for _, e := range shown[:min(rows, len(shown))] {
		count, average := "-", "-"
		if e.Count >= 0 {
			count = fmt.Sprint(e.Count)
		}
		if e.Average.Known() {
			average = seconds(float64(e.Average))
		}
		all = append(all, []string{breakable(screen.Clean(e.Name), 22), eventShare(r, e), count, average, strings.TrimSuffix(e.Part.Title()+": "+e.Meaning, ": ")})
	}
	t.table([]int{22, 7, 7, 7, t.Width - 53}, all)
	if more := len(shown) - rows; more > 0 {
		t.Text("  ", screen.Dim, fmt.Sprintf("and %d more; --format json has all. Events without a number of waits were sampled.", more))
		return
	}
	t.Text("  ", screen.Dim, "Events without a number of waits were sampled.")
}

// eventShare is an event's share of busy time.
func eventShare(r *explain.Report, e explain.Event) string {
	return share(busy(r, e.Part, e.Share))
}

// breakable lets a long name of a wait break where its parts meet.
func breakable(name string, width int) string {
	if utf8.RuneCountInString(name) <= width || strings.Contains(name, " ") {
		return name
	}
	return strings.Replace(name, ":", ": ", 1)
}

func (t *text) bounds(r *explain.Report) {
	t.Head("what each lever could give at most")
	if r.Busy <= 0 {
		why := "Nothing, as nothing ran."
		if r.Hidden {
			why = "Unknown, as no session was seen that did anything."
		}
		t.Text("  ", "", why)
		return
	}
	all := [][]string{{"lever", "share", "likely", "at most", "of cycle", "measured"}}
	for _, b := range r.Bounds {
		title, what := explain.LeverTitle(b.Lever)
		s, likely, most, cycle := share(b.Share), share(b.Likely), share(b.AtMost), share(b.CycleAtMost)
		if b.Reason != "" {
			s, likely, most, cycle, what = "-", "-", "-", "-", b.Reason
		}
		all = append(all, []string{title + " (" + what + ")", s, likely, most, cycle, measured(&b)})
	}
	t.table([]int{27, 6, 6, 7, 8, t.Width - 66}, all)
	t.Text("  ", screen.Dim, boundsNote)
	for _, n := range boundNotes(r) {
		t.Text("  ", "", n)
	}
}

func (t *text) comparison(c *explain.Comparison) {
	t.Head("before and after")
	for _, w := range c.Warnings {
		t.Hang("  ! ", screen.Yellow, w)
	}
	t.Hang("  before  ", "", c.Before.Started.Format("2006-01-02 15:04:05")+", "+seconds(c.Before.Wall)+", "+sessions(c.Before))
	t.Hang("  after   ", "", c.After.Started.Format("2006-01-02 15:04:05")+", "+seconds(c.After.Wall)+", "+sessions(c.After))
	head := []string{"", "before", "after", "a transaction before", "after"}
	line := func(x explain.Change) []string {
		return []string{breakable(screen.Clean(x.Name), 24), share(x.Before), share(x.After), perTransaction(x.PerBefore), perTransaction(x.PerAfter)}
	}
	all := [][]string{head}
	for _, x := range c.Parts {
		all = append(all, line(x))
	}
	all = append(all, []string{"a transaction in all", "", "", perTransaction(c.Before.PerTransaction()), perTransaction(c.After.PerTransaction())})
	all = append(all, []string{"average log write", "", "", perTransaction(c.Before.Log.Average), perTransaction(c.After.Log.Average)})
	widths := []int{24, 8, 8, 14, 14}
	t.table(widths, all)
	t.Raw("")
	all = [][]string{append([]string{"event"}, head[1:]...)}
	for _, x := range c.Events[:min(rows, len(c.Events))] {
		all = append(all, line(x))
	}
	t.table(widths, all)
	t.Text("  ", screen.Dim, "Two recordings, not an experiment: no interval, and what else changed between them is in it. 'hostlab run log-device' tells.")
}
