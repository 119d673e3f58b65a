package document

import (
	"encoding/csv"
	"io"
	"strconv"

	"hostlab/internal/screen"
)

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
