package effects

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"hostlab/internal/screen"
)

// WriteMarkdown writes tables as GitHub renders them.
func WriteMarkdown(w io.Writer, s *Set) error {
	var b bytes.Buffer
	if len(s.Reports) > 1 {
		fmt.Fprintf(&b, "# Comparison of %d experiments\n\n", len(s.Reports))
		c := s.compare()
		b.WriteString("| Effect | Experiment | Change | Interval | n | Verdict | Evidence |\n|---|---|--:|---|--:|---|---|\n")
		for _, row := range c.Rows {
			for i, e := range row.Effects {
				if e == nil {
					continue
				}
				r := &s.Reports[i]
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %d %s | %s | %s |\n", md(row.Name), md(r.Dir), amount(e.Value, &e.Response), span(e.Low, e.High, &e.Response), e.N, e.Unit, verdictWord(e), evidence(r.head(), e))
			}
		}
		b.WriteString("\n")
		for _, row := range c.Rows {
			for _, n := range row.Notes {
				fmt.Fprintf(&b, "- %s: %s\n", md(row.Name), md(n))
			}
		}
		b.WriteString("\n")
		for _, w := range c.Warnings {
			fmt.Fprintf(&b, "> **Warning:** %s\n\n", md(w))
		}
	}
	for i := range s.Reports {
		markdown(&b, &s.Reports[i])
	}
	_, err := w.Write(screen.CleanPage(b.Bytes()))
	return err
}

func markdown(b *bytes.Buffer, r *Report) {
	a, x := r.Analysis, r.head()
	fmt.Fprintf(b, "## %s\n\n", md(x.Name))
	for _, v := range verdicts(r) {
		fmt.Fprintf(b, "**%s.**\n\n", md(v))
	}
	fmt.Fprintf(b, "%s. %s; %s. %s\n\n", md(headLine(r)), stateText(a), runsText(a.Runs), md(seenText(a)))
	for _, w := range r.warnings() {
		fmt.Fprintf(b, "> **Warning:** %s\n\n", md(w))
	}
	if s := absentText(x); s != "" {
		fmt.Fprintf(b, "%s\n\n", md(s))
	}
	if c := r.section(""); c != nil {
		markdownContent(b, c)
	}
	if len(a.Effects) > 0 {
		b.WriteString("| Effect | Change | Interval | n | Margin | Noise floor | Verdict | Evidence |\n|---|--:|---|--:|--:|--:|---|---|\n")
		for j := range a.Effects {
			e := &a.Effects[j]
			p := &e.Response
			change := amount(e.Value, p)
			if stalls(e) {
				change += " (mean " + amount(e.Mean, p) + ")"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %d %s | %s | %s | %s | %s |\n", md(effectName(x, e)), change, span(e.Low, e.High, p), e.N, e.Unit,
				within(p.Margin, p), within(e.NoiseFloor, p), verdictWord(e), evidence(x, e))
		}
		b.WriteString("\n")
		for _, n := range footnotes(x, a, true) {
			fmt.Fprintf(b, "%s\n", n)
		}
		b.WriteString("\n")
	}
	for j := range a.AA {
		fmt.Fprintf(b, "- %s\n", md(aaText(&a.AA[j])))
	}
	for j := range a.Effects {
		if n := needText(&a.Effects[j]); n != "" && primary(&a.Effects[j]) {
			fmt.Fprintf(b, "- %s\n", md(subject(&a.Effects[j].Contrast)+": "+n))
		}
	}
	b.WriteString("\n")
}

var mdEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "#", `\#`)

// md makes text from anywhere safe within a line or a cell.
func md(s string) string { return mdEscapes.Replace(screen.Clean(s)) }
