package document

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"hostlab/internal/screen"
)

var mdEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;",
	"[", `\[`, "]", `\]`, "#", `\#`)

// md makes text from anywhere safe within a line or a cell.
func md(s string) string { return mdEscapes.Replace(screen.Clean(s)) }

// WriteMarkdown prints a document as GitHub renders it.
func WriteMarkdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", md(d.Title))
	for _, l := range d.Answer {
		fmt.Fprintf(&b, "**%s**\n\n", md(l.Text))
	}
	for _, s := range d.About {
		fmt.Fprintf(&b, "%s\n\n", md(s))
	}
	for _, s := range d.Warnings {
		fmt.Fprintf(&b, "> **Warning:** %s\n\n", md(s))
	}
	for _, s := range d.shown(Page) {
		head := false
		for _, block := range s.Blocks {
			if _, ok := block.(Figure); ok || pageOnly(block) {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "## %s\n\n", md(s.Title))
				if s.Folded {
					b.WriteString("<details><summary>Show</summary>\n\n")
				}
				head = true
			}
			mdBlock(&b, block)
		}
		if head && s.Folded {
			b.WriteString("</details>\n\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func mdBlock(b *bytes.Buffer, block Block) {
	switch block := block.(type) {
	case Line:
		fmt.Fprintf(b, "%s\n\n", mdLine(block))
	case List:
		for _, l := range block {
			fmt.Fprintf(b, "- %s\n", mdLine(l))
		}
		b.WriteString("\n")
	case Pairs:
		for _, p := range block {
			fmt.Fprintf(b, "- %s: %s\n", md(p.Name), md(strings.Join(append([]string{p.Value}, p.More...), "; ")))
		}
		b.WriteString("\n")
	case Commands:
		for _, c := range block {
			if c.Why != "" {
				fmt.Fprintf(b, "%s:\n\n", md(c.Why))
			}
			for line := range strings.SplitSeq(c.Line, "\n") {
				fmt.Fprintf(b, "    %s\n", screen.Clean(line))
			}
			b.WriteString("\n")
		}
	case *Table:
		mdTable(b, block)
	case *Bars:
		mdTable(b, block.Table)
	}
}

func mdLine(l Line) string {
	if l.Tone == Strong || l.Tone == Caution {
		return "**" + md(l.Text) + "**"
	}
	return md(l.Text)
}

func mdTable(b *bytes.Buffer, t *Table) {
	if t.Title != "" {
		fmt.Fprintf(b, "**%s**\n\n", md(t.Title))
	}
	if t.Lead != "" {
		fmt.Fprintf(b, "%s\n\n", md(t.Lead))
	}
	b.WriteString("|")
	for _, c := range t.Columns {
		fmt.Fprintf(b, " %s |", md(c.Head))
	}
	b.WriteString("\n|")
	for _, c := range t.Columns {
		b.WriteString(map[bool]string{true: "--:|", false: "---|"}[c.Right])
	}
	b.WriteString("\n")
	var notes []Line
	for _, r := range t.Rows {
		cells := r.Cells
		if r.Across != "" { // Markdown has no cell across several columns
			cells = append([]Cell{r.Cells[0], Text(r.Across)}, make([]Cell, max(0, len(t.Columns)-2))...)
		}
		b.WriteString("|")
		for _, c := range cells {
			fmt.Fprintf(b, " %s |", md(strings.Join(append([]string{c.Text}, c.More...), "; ")))
		}
		b.WriteString("\n")
		notes = append(notes, r.Notes...)
	}
	b.WriteString("\n")
	for _, n := range notes {
		if n.See == nil {
			fmt.Fprintf(b, "- %s\n", mdLine(n))
		}
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
}
