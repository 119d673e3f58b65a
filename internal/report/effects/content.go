package effects

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"hostlab/internal/screen"
)

// content writes an extra on a terminal.
func (t *term) content(c *content) {
	t.Head(c.Title)
	for _, s := range c.Told {
		t.Text("  ", screen.Bold, s)
	}
	for _, s := range c.Lead {
		t.Text("  ", screen.Dim, s)
	}
	for i := range c.Grids {
		t.grid(&c.Grids[i])
	}
	for i, s := range c.Notes {
		if i == 0 {
			t.Raw("")
		}
		t.Text("  ", screen.Dim, s)
	}
}

// The label column of a grid is as wide as it needs, within these.
const (
	leastLabel = 10
	mostLabels = 30
	gridGap    = 2 // columns between columns
)

// grid writes a table; columns for which there is no room follow below, with the
// labels again.
func (t *term) grid(g *grid) {
	t.Raw("")
	t.Text("  ", screen.Bold, g.Title)
	if g.Lead != "" {
		t.Text("  ", screen.Dim, g.Lead)
	}
	room := t.Width - gridGap
	label := utf8.RuneCountInString(g.Corner)
	for _, r := range g.Rows {
		label = max(label, utf8.RuneCountInString(r.Label))
	}
	label = min(label, max(leastLabel, min(mostLabels, room/3)))
	width := make([]int, len(g.Head))
	for c := range g.Head {
		width[c] = min(max(g.width(c), leastLabel), room-label-gridGap)
	}
	for from := 0; from < len(width); {
		to, used := from, label
		for to < len(width) && (to == from || used+gridGap+width[to] <= room) {
			used += gridGap + width[to]
			to++
		}
		if from > 0 {
			t.Raw("")
		}
		t.gridLines(label, width[from:to], g.Corner, plainCells(g.Head[from:to]), screen.Dim)
		for _, r := range g.Rows {
			switch {
			case r.Across == nil:
				t.gridLines(label, width[from:to], r.Label, r.Cells[from:to], "")
			case from == 0:
				t.gridLines(label, []int{room - label - gridGap}, r.Label, []gridCell{r.Across}, "")
			}
		}
		from = to
	}
}

// width is how many columns the figures of a column take; its head may wrap.
func (g *grid) width(c int) int {
	w := min(utf8.RuneCountInString(g.Head[c]), 14)
	for _, r := range g.Rows {
		if r.Across != nil {
			continue
		}
		for _, l := range r.Cells[c] {
			w = max(w, utf8.RuneCountInString(l))
		}
	}
	return w
}

func plainCells(texts []string) []gridCell {
	out := make([]gridCell, len(texts))
	for i, s := range texts {
		out[i] = gridCell{s}
	}
	return out
}

// gridLines writes one row.
func (t *term) gridLines(label int, width []int, name string, cells []gridCell, code string) {
	columns := [][]string{screen.WrapFigures(name, label)}
	for i, c := range cells {
		var lines []string
		for _, l := range c {
			lines = append(lines, screen.WrapFigures(l, width[i])...)
		}
		columns = append(columns, lines)
	}
	height := 0
	for _, c := range columns {
		height = max(height, len(c))
	}
	for h := range height {
		line := ""
		for i, c := range columns {
			w, s := label, ""
			if i > 0 {
				w = width[i-1]
			}
			if h < len(c) {
				s = c[h]
			}
			line += strings.Repeat(" ", gridGap) + screen.Pad(s, w)
		}
		t.Raw(t.Style(code, strings.TrimRight(line, " ")))
	}
}

// markdownContent writes an extra as GitHub renders it.
func markdownContent(b *bytes.Buffer, c *content) {
	fmt.Fprintf(b, "### %s\n\n", md(c.Title))
	for _, s := range c.Told {
		fmt.Fprintf(b, "**%s**\n\n", md(s))
	}
	for _, s := range c.Lead {
		fmt.Fprintf(b, "%s\n\n", md(s))
	}
	for _, g := range c.Grids {
		fmt.Fprintf(b, "**%s**\n\n", md(g.Title))
		if g.Lead != "" {
			fmt.Fprintf(b, "%s\n\n", md(g.Lead))
		}
		fmt.Fprintf(b, "| %s |", md(g.Corner))
		for _, h := range g.Head {
			fmt.Fprintf(b, " %s |", md(h))
		}
		b.WriteString("\n|---|" + strings.Repeat("--:|", len(g.Head)) + "\n")
		for _, r := range g.Rows {
			fmt.Fprintf(b, "| %s |", md(r.Label))
			cells := r.Cells
			if r.Across != nil { // there is no such thing in Markdown
				cells = append([]gridCell{r.Across}, make([]gridCell, max(0, len(g.Head)-1))...)
			}
			for _, cell := range cells {
				fmt.Fprintf(b, " %s |", md(strings.Join(cell, "; ")))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	for _, s := range c.Notes {
		fmt.Fprintf(b, "%s\n\n", md(s))
	}
}
