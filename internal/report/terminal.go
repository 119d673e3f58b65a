package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Options say how a terminal report looks.
type Options struct {
	Width int    // columns; 0 means 80. Text is never wider than 100.
	Color bool   // ANSI colours; the caller honours NO_COLOR
	HTML  string // where the HTML report is; "" if none was written
	JSON  string // where the JSON is
}

// The widest column of text that is pleasant to read, and the narrowest in which
// the table of levers stands.
const (
	widest   = 100
	tableMin = 72
)

// topFindings is how many findings a terminal shows; the HTML report has all.
const topFindings = 5

// WriteTerminal writes the report for a terminal of opt.Width columns.
func WriteTerminal(w io.Writer, a *Assessment, opt Options) error {
	t := &term{w: w, color: opt.Color, width: min(opt.Width, widest)}
	if opt.Width <= 0 {
		t.width = 80
	}
	t.text("", bold, fmt.Sprintf("%s as %s", a.Host, a.Role))
	for _, l := range hostLines(a.Facts) {
		t.text("  ", "", l)
	}
	t.head("Verdict")
	t.text("  ", bold, a.Verdict)
	for i, w := range a.Warnings {
		if i == 0 {
			t.raw("")
		}
		t.hang("  ! ", yellow, w)
	}
	t.head("Levers")
	t.levers(a.Levers)
	t.findings(a)
	t.probes(a)
	t.raw("")
	if opt.HTML != "" {
		t.text("", "", "Report: "+opt.HTML)
	}
	if opt.JSON != "" {
		t.text("", "", "Data: "+opt.JSON)
	}
	t.text("", dim, fmt.Sprintf("hostlab %s, %s, %.0f s; nothing on this host was changed.", a.Tool, a.Started.Format("2006-01-02 15:04 MST"), a.Seconds))
	return t.err
}

// The few styles; every one is an SGR code.
const (
	bold   = "1"
	dim    = "2"
	green  = "32"
	yellow = "1;33"
	cyan   = "36"
)

var verdictStyle = map[lever.Verdict]string{
	lever.Worthwhile: yellow, lever.Recommended: cyan, lever.NoEffect: green, lever.Settled: green,
	lever.Unresolved: "", lever.Untestable: dim, lever.NotForRole: dim,
}

// term writes lines and keeps the first error.
type term struct {
	w     io.Writer
	color bool
	width int
	err   error
}

func (t *term) style(code, s string) string {
	if !t.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *term) raw(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, strings.TrimRight(s, " ")+"\n")
	}
}

// text wraps a paragraph.
func (t *term) text(indent, code, s string) {
	for _, l := range wrap(s, t.width-len(indent)) {
		t.raw(indent + t.style(code, l))
	}
}

// hang wraps a paragraph behind a label.
func (t *term) hang(label, code, s string) {
	for i, l := range wrap(s, t.width-len(label)) {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		t.raw(t.style(dim, label) + t.style(code, l))
	}
}

func (t *term) head(s string) {
	t.raw("")
	t.raw(t.style(bold, strings.ToUpper(s)))
}

// command prints what to type, so that it can be pasted.
func (t *term) command(label, next string) {
	cmd, note := splitNext(next)
	if note != "" {
		t.hang(label, "", note)
		label = strings.Repeat(" ", len(label))
	}
	if cmd == "" {
		return
	}
	for _, l := range screen.Commands(cmd, t.width-len(label)) {
		t.raw(t.style(dim, label) + l)
		label = strings.Repeat(" ", len(label))
	}
}

// levers prints the table, then a paragraph for each.
func (t *term) levers(levers []lever.Lever) {
	if len(levers) == 0 {
		t.text("  ", "", "none")
		return
	}
	if t.width >= tableMin {
		rows := [][]string{{"lever", "at most", "measured [95 % interval]", "n", "evidence", "verdict"}}
		styles, starred := []string{""}, ""
		for i := range levers {
			l := &levers[i]
			figure, n := "not measured", ""
			if m := l.Measurement; m != nil && m.Known() {
				figure, n = result.Format(m.Estimate.Value, m.Unit)+" "+interval(m), countText(m)
			}
			most := boundText(l)
			if foreignBound(l) {
				most, starred = most+" *", l.BoundBy
			}
			rows = append(rows, []string{l.Title, most, figure, n, cmp.Or(string(l.Evidence), "-"), verdictWord(l.Verdict)})
			styles = append(styles, verdictStyle[l.Verdict])
		}
		t.table(rows, styles)
		if starred != "" {
			t.hang("  * ", dim, "by "+starred+", not by the setting that is advised")
		}
	}
	for i := range levers {
		l := &levers[i]
		quiet := calm(l)
		if !quiet || i > 0 && !calm(&levers[i-1]) {
			t.raw("")
		}
		t.text("  ", bold, fmt.Sprintf("%s: %s", l.Title, verdictWord(l.Verdict)))
		t.text("    ", "", l.Summary)
		if l.Bound != nil && !quiet {
			t.hang("    at most ", "", boundText(l)+" of "+boundOf(l))
		}
		if t.width < tableMin && l.Measurement != nil && l.Measurement.Known() {
			t.hang("    "+string(l.Measurement.Evidence)+" ", "", lever.Figure(l.Measurement))
		}
		if l.Next != "" {
			t.command("    next    ", l.Next)
		}
	}
}

// calm levers ask for nothing.
func calm(l *lever.Lever) bool { return l.Verdict == lever.Settled || l.Verdict == lever.Untestable }

// table prints rows whose cells wrap; the last column of each row is styled.
func (t *term) table(rows [][]string, styles []string) {
	width := []int{16, 8, 0, 7, 9, 12}
	width[2] = t.width - 2 - len(width) + 1 // what the others and the gaps leave
	for _, n := range []int{0, 1, 3, 4, 5} {
		width[2] -= width[n]
	}
	for r, row := range rows {
		cells := make([][]string, len(row))
		height := 1
		for c := range row {
			cells[c] = wrap(row[c], width[c])
			height = max(height, len(cells[c]))
		}
		for h := range height {
			line := "  "
			for c := range row {
				s := ""
				if h < len(cells[c]) {
					s = cells[c][h]
				}
				code := ""
				switch {
				case r == 0:
					code = dim
				case c == len(row)-1:
					code = styles[r]
				}
				line += t.style(code, screen.Pad(s, width[c])) + " "
			}
			t.raw(line)
		}
	}
}

func (t *term) findings(a *Assessment) {
	t.head("Findings")
	found := findings(a.Results)
	t.text("  ", "", tally(a.Results))
	for i, f := range found {
		if i == topFindings {
			t.text("  ", dim, fmt.Sprintf("and %d more: hostlab check%s", len(found)-i, lever.Again(a.Role, a.Facts)))
			break
		}
		code := ""
		if f.Severity == "high" {
			code = yellow
		}
		t.hang(fmt.Sprintf("  %-8s %-7s ", f.ID, f.Severity), code, f.Title)
		t.text(strings.Repeat(" ", 19), "", f.Detail)
	}
}

func (t *term) probes(a *Assessment) {
	t.head("Measured")
	for i := range a.Runs {
		o := &a.Runs[i]
		t.text("  ", "", fmt.Sprintf("%s (%.0f s)", o.Title, o.Seconds))
		if o.Skipped != "" {
			t.text("    ", dim, "skipped: "+o.Skipped)
		}
		if o.Failed != "" {
			t.text("    ", yellow, "failed: "+o.Failed)
		}
		for _, m := range headlines(o, a.Probes) {
			t.text("    ", "", label(&m)+": "+lever.Figure(&m))
		}
		for _, s := range o.Warnings {
			if busyNote(s) {
				continue // stands under the verdict
			}
			t.text("    ", dim, "note: "+s)
		}
	}
}
