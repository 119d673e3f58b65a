package document

import (
	"bytes"
	"slices"

	"hostlab/internal/screen"
)

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
