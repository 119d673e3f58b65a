package document

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"hostlab/internal/screen"
)

// Format prints any document. Options are for text alone.
type Format struct {
	Name  string
	Write func(io.Writer, *Document, TextOptions) error
}

// Formats are all, in the order of help; the first is the default.
var Formats = []Format{
	{"text", WriteText},
	{"json", func(w io.Writer, d *Document, _ TextOptions) error { return WriteJSON(w, d.Data) }},
	{"html", func(w io.Writer, d *Document, _ TextOptions) error { return WriteHTML(w, d) }},
	{"markdown", func(w io.Writer, d *Document, _ TextOptions) error { return WriteMarkdown(w, d) }},
}

// One screen has so many lines, of so many columns.
const (
	ScreenLines   = 40
	ScreenColumns = 80
)

// Brief is the longest document that fits one screen, also of a terminal with fewer rows, where the answer stands at
// the end, too. brief makes one with at most so many of each thing.
func Brief(brief func(most int) *Document) *Document {
	for most := 6; ; most-- {
		if d := brief(most); most == 0 || d.lines() <= ScreenLines {
			return d
		}
	}
}

// lines is how many a document has on a small terminal.
func (d *Document) lines() int {
	var b bytes.Buffer
	if err := WriteText(&b, d, TextOptions{Width: ScreenColumns, Rows: Rows}); err != nil {
		return 0 // memory takes all
	}
	return Folded(b.String(), ScreenColumns)
}

// AtMost leaves so many texts, and says how many more there are.
func AtMost(most int, all []string, of string) []string {
	if len(all) <= most {
		return all
	}
	if most > 0 {
		of = "more " + of
	}
	return append(slices.Clone(all[:most]), screen.Count(len(all)-most, of)+": --all")
}

// WriteCSV prints a table for other programs: numbers in base units, a column's unit in its head (RFC 4180).
func WriteCSV(w io.Writer, t *Table) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		row[i] = c.Head
		if c.Unit != "" {
			row[i] += " (" + c.Unit + ")"
		}
	}
	if err := out.Write(screen.Cells(row)); err != nil {
		return err
	}
	for _, r := range t.Rows {
		clear(row)
		for i, c := range r.Cells {
			row[i] = c.Text
			if c.Sortable() {
				row[i] = strconv.FormatFloat(c.Sort, 'g', -1, 64)
			}
		}
		if r.Across != "" && len(row) > 1 {
			row[1] = r.Across
		}
		if err := out.Write(screen.Cells(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
