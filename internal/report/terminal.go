package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Options say how a terminal report looks.
type Options struct {
	Width int    // columns; 0 means 80. Text is never wider than 100.
	Color bool   // ANSI colours; the caller honours NO_COLOR
	HTML  string // where the HTML report is; "" if none was written
	JSON  string // where the JSON is
}

// tableMin is the narrowest terminal in which the table of levers stands.
const tableMin = 72

// topFindings is how many findings a terminal shows; the HTML report has all.
const topFindings = 5

// WriteTerminal writes the report for a terminal of opt.Width columns.
func WriteTerminal(w io.Writer, a *Assessment, opt Options) error {
	t := &term{screen.NewPrinter(w, opt.Width, opt.Color)}
	t.Text("", screen.Bold, fmt.Sprintf("%s as %s", a.Host, a.Role))
	for _, l := range hostLines(a) {
		t.Text("  ", "", l)
	}
	t.Head("Verdict")
	t.Text("  ", screen.Bold, a.Verdict)
	for i, w := range a.Warnings {
		if i == 0 {
			t.Raw("")
		}
		t.Hang("  ! ", screen.Yellow, w)
	}
	t.Head("Levers")
	t.levers(a.Levers)
	t.findings(a)
	t.probes(a)
	t.Raw("")
	if opt.HTML != "" {
		t.Text("", "", "Report: "+opt.HTML)
	}
	if opt.JSON != "" {
		t.Text("", "", "Data: "+opt.JSON)
	}
	t.Text("", screen.Dim, fmt.Sprintf("hostlab %s, %s, %.0f s; nothing on this host was changed.", a.Tool, a.Started.Format("2006-01-02 15:04 MST"), a.Seconds))
	return t.Err()
}

var verdictStyle = map[lever.Verdict]string{
	lever.Worthwhile: screen.Yellow, lever.Recommended: screen.Cyan, lever.NoEffect: screen.Green, lever.Settled: screen.Green,
	lever.Unresolved: "", lever.Untestable: screen.Dim, lever.NotForRole: screen.Dim, lever.NotHere: "",
}

// term writes the parts of an assessment.
type term struct{ *screen.Printer }

// command prints what to type, so that it can be pasted.
func (t *term) command(label, next string) {
	cmd, note := splitNext(next)
	if note != "" {
		t.Hang(label, "", note)
		label = strings.Repeat(" ", len(label))
	}
	if cmd == "" {
		return
	}
	for _, l := range screen.Commands(cmd, t.Width-len(label)) {
		t.Raw(t.Style(screen.Dim, label) + l)
		label = strings.Repeat(" ", len(label))
	}
}

// levers prints the table, then a paragraph for each.
func (t *term) levers(levers []lever.Lever) {
	if len(levers) == 0 {
		t.Text("  ", "", "none")
		return
	}
	if t.Width >= tableMin {
		rows := [][]string{{"lever", "at most", "measured [95 % interval]", "n", "evidence", "verdict"}}
		styles, starred := []string{""}, ""
		for i := range levers {
			l := &levers[i]
			figure, n := "not measured", ""
			if m := l.Measurement; m != nil && m.Known() {
				figure, n = valueText(m)+" "+interval(m), countText(m)
			}
			most := boundText(l)
			if foreignBound(l) {
				most, starred = most+" *", l.BoundBy
			}
			rows = append(rows, []string{l.Title, most, figure, n, cmp.Or(string(l.Evidence), "-"), verdictWord(l.Verdict)})
			styles = append(styles, verdictStyle[l.Verdict])
		}
		width := []int{16, 8, 0, 7, 9, 12}
		width[2] = t.Width - 2 - len(width) + 1 // what the others and the gaps leave
		for _, n := range []int{0, 1, 3, 4, 5} {
			width[2] -= width[n]
		}
		t.Table(width, rows, styles)
		if starred != "" {
			t.Hang("  * ", screen.Dim, "by "+starred+", not by the setting that is advised")
		}
	}
	for i := range levers {
		l := &levers[i]
		quiet := calm(l)
		if !quiet || i > 0 && !calm(&levers[i-1]) {
			t.Raw("")
		}
		t.Text("  ", screen.Bold, fmt.Sprintf("%s: %s", l.Title, verdictWord(l.Verdict)))
		t.Text("    ", "", l.Summary)
		if l.Bound != nil && !quiet {
			t.Hang("    at most ", "", boundText(l)+" of "+boundOf(l))
		}
		if t.Width < tableMin && l.Measurement != nil && l.Measurement.Known() {
			t.Hang("    "+string(l.Measurement.Evidence)+" ", "", lever.Figure(l.Measurement))
		}
		if l.Next != "" {
			t.command("    next    ", l.Next)
		}
	}
}

// calm levers ask for nothing.
func calm(l *lever.Lever) bool { return l.Verdict == lever.Settled || l.Verdict == lever.Untestable }

func (t *term) findings(a *Assessment) {
	t.Head("Findings")
	found := findings(a.Results)
	t.Text("  ", "", tally(a.Results))
	for i, f := range found {
		if i == topFindings {
			t.Text("  ", screen.Dim, fmt.Sprintf("and %d more: hostlab check%s", len(found)-i, lever.Again(a.Role, a.Facts)))
			break
		}
		code := ""
		if f.Severity == "high" {
			code = screen.Yellow
		}
		t.Hang(fmt.Sprintf("  %-8s %-7s ", f.ID, f.Severity), code, f.Title)
		t.Text(strings.Repeat(" ", 19), "", f.Detail)
	}
}

func (t *term) probes(a *Assessment) {
	t.Head("Measured")
	for i := range a.Runs {
		o := &a.Runs[i]
		t.Text("  ", "", fmt.Sprintf("%s (%.0f s)", o.Title, o.Seconds))
		if o.Skipped != "" {
			t.Text("    ", screen.Dim, "skipped: "+o.Skipped)
		}
		if o.Failed != "" {
			t.Text("    ", screen.Yellow, "failed: "+o.Failed)
		}
		for _, m := range headlines(o, a.Probes) {
			t.Text("    ", "", label(&m)+": "+lever.Figure(&m))
		}
		for _, s := range o.Warnings {
			if busyNote(s) {
				continue // stands under the verdict
			}
			t.Text("    ", screen.Dim, "note: "+s)
		}
	}
}
