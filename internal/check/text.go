package check

import (
	"fmt"
	"io"
	"strings"

	"hostlab/internal/screen"
)

// TextOptions say how WriteText lays out its lines.
type TextOptions struct {
	Width   int  // columns; 0 means 80. Commands may use 80 even where this is less
	Color   bool // ANSI colours for severities
	Verbose bool // list what is ok and not applicable too, and all evidence
}

// evidenceRows is how many rows of evidence a result shows unless Verbose.
const evidenceRows = 6

// text collects lines of at most width columns.
type text struct {
	strings.Builder
	width int
	color bool
}

// WriteText prints results for a person: findings first, the worst on top, then
// what could not be seen and why, then a count of the rest.
func WriteText(w io.Writer, host string, role Role, results []Result, opt TextOptions) error {
	t := &text{width: opt.Width, color: opt.Color}
	if t.width <= 0 {
		t.width = 80
	}
	t.width = max(t.width, 40)
	findings, unknown := worstFirst(withStatus(results, Finding)), worstFirst(withStatus(results, Unknown))
	t.para("", fmt.Sprintf("%s as %s: %s", orElse(host, "this host"), role, tally(findings)))
	t.para("", purpose(role))
	for _, r := range findings {
		t.WriteByte('\n')
		t.finding(r, opt.Verbose)
	}
	if len(unknown) > 0 {
		t.para("\n", "Could not look:")
		for _, r := range unknown {
			t.labelled("  "+r.ID+"  ", r.Title+": "+r.Detail)
		}
	}
	good, other := withStatus(results, OK), withStatus(results, NotApplicable)
	if opt.Verbose {
		t.list("Ok:", good)
		t.list("Not applicable:", other)
	}
	hint := "; --all lists them"
	if opt.Verbose || len(good)+len(other) == 0 {
		hint = ""
	}
	t.para("\n", fmt.Sprintf("%d ok, %d not applicable%s", len(good), len(other), hint))
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *text) finding(r Result, verbose bool) {
	// Colour goes around the padded word, so that columns stay where they are.
	head := fmt.Sprintf("%s  %-6s  ", r.ID, strings.ToUpper(r.Severity))
	for i, l := range screen.Wrap(screen.Clean(r.Title), t.width-len(head)) {
		if i == 0 {
			t.WriteString(r.ID + "  " + t.paint(r.Severity, fmt.Sprintf("%-6s", strings.ToUpper(r.Severity))) + "  " + l + "\n")
			continue
		}
		t.WriteString(strings.Repeat(" ", len(head)) + l + "\n")
	}
	t.para("  ", r.Detail)
	shown := r.Evidence
	if !verbose && len(shown) > evidenceRows {
		shown = shown[:evidenceRows]
	}
	for _, e := range shown {
		t.labelled("  read  ", e.Path+" = "+e.Value)
	}
	if n := len(r.Evidence) - len(shown); n > 0 {
		t.para("        ", fmt.Sprintf("and %d more; --all lists them", n))
	}
	label := "  do    "
	for _, l := range screen.Commands(r.Remedy, max(t.width, 80)-len(label)) {
		t.WriteString(label + l + "\n")
		label = "        "
	}
}

func (t *text) list(title string, results []Result) {
	if len(results) == 0 {
		return
	}
	t.para("\n", title)
	for _, r := range results {
		t.labelled("  "+r.ID+"  ", r.Title+": "+r.Detail)
		for _, e := range r.Evidence {
			t.labelled("           read  ", e.Path+" = "+e.Value)
		}
	}
}

// para writes wrapped text behind an indent; a leading newline in it is kept.
func (t *text) para(indent, s string) {
	bare := strings.TrimLeft(indent, "\n")
	t.WriteString(indent[:len(indent)-len(bare)])
	for _, l := range screen.Wrap(screen.Clean(s), t.width-len(bare)) {
		t.WriteString(bare + l + "\n")
	}
}

// labelled writes wrapped text behind a label, and spaces on its other lines.
func (t *text) labelled(label, s string) {
	for _, l := range screen.Wrap(screen.Clean(s), t.width-len(label)) {
		t.WriteString(label + l + "\n")
		label = strings.Repeat(" ", len(label))
	}
}

var severityColors = map[string]string{"high": "1;31", "medium": "33", "low": "36", "info": "2"}

func (t *text) paint(severity, s string) string {
	if code, ok := severityColors[severity]; ok && t.color {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

// tally counts findings by severity.
func tally(findings []Result) string {
	if len(findings) == 0 {
		return "no findings"
	}
	var parts []string
	for i := len(severityNames) - 1; i >= 0; i-- {
		n := 0
		for _, r := range findings {
			if r.Severity == severityNames[i] {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, severityNames[i]))
		}
	}
	return count(len(findings), "finding", "findings") + " (" + strings.Join(parts, ", ") + ")"
}

// purpose says what a role puts first.
func purpose(r Role) string {
	switch r {
	case ProductionDB:
		return "Determined response time comes before energy; commits must be fast and durable."
	case ProductionApp:
		return "Determined response time comes before energy."
	}
	return "Energy comes first; response times may vary."
}

// WriteLong explains one check: what it looks at, why it matters, who says so,
// who disagrees, and how much it weighs in each role.
func WriteLong(w io.Writer, c Check) error {
	t := &text{width: 80}
	t.labelled(c.ID+"  ", c.Title)
	sections := []struct{ title, body string }{
		{"Why", c.Why}, {"Who recommends it", c.Source}, {"Where the sources disagree", c.Disagree},
	}
	for _, s := range sections {
		t.para("\n", s.title)
		t.para("  ", orElse(s.body, "They do not."))
	}
	t.para("\n", "How much it weighs")
	for _, r := range Roles {
		weight := "not judged"
		if sev, ok := c.Severity[r]; ok {
			weight = sev.String()
		}
		t.WriteString("  " + fmt.Sprintf("%-16s", r) + weight + "\n")
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// WriteList prints one line a check: its ID, what it looks at, and how much it
// weighs in each role.
func WriteList(w io.Writer, checks []Check) error {
	var b strings.Builder
	row := func(id, title string, weights []string) {
		line := fmt.Sprintf("%-7s %-51s", id, title)
		for _, v := range weights {
			line += fmt.Sprintf(" %-6s", v)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("ID", "what is looked at, and its weight by role", []string{"db", "app", "dev"})
	for _, c := range checks {
		var weights []string
		for _, r := range Roles {
			weight := "-"
			if sev, ok := c.Severity[r]; ok {
				weight = sev.String()
			}
			weights = append(weights, weight)
		}
		row(c.ID, c.Title, weights)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
