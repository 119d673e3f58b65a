package document

import (
	"strings"
	"unicode/utf8"

	"hostlab/internal/screen"
)

// layout holds the widths of a table's columns on a terminal.
type layout struct {
	room  int // columns of the terminal that the table may use
	width []int
}

const (
	gap      = 2  // between two columns
	narrow   = 16 // no column is narrower than its longest word, up to this
	figure   = 20 // no column of figures is narrower, unless all of them are
	longHead = 12 // a longer head wraps
)

// newLayout gives each column the width of its longest line and then takes from the widest
// column until all fit. Figures do not shrink: what they need beyond the room goes into
// further parts.
func newLayout(columns []Column, rows []Row, room int) *layout {
	l := &layout{room: room, width: make([]int, len(columns))}
	least := make([]int, len(columns))
	for c, column := range columns {
		l.width[c] = min(utf8.RuneCountInString(screen.Clean(column.Head)), longHead)
		least[c] = min(longestWord(column.Head), narrow)
		for _, r := range rows {
			if r.Across != "" && c > 0 {
				continue
			}
			for _, s := range append([]string{r.Cells[c].Text}, r.Cells[c].More...) {
				l.width[c] = max(l.width[c], utf8.RuneCountInString(screen.Clean(s)))
				least[c] = max(least[c], min(longestWord(s), narrow))
			}
		}
		if column.Right { // an interval stays in one piece
			least[c] = max(least[c], min(l.width[c], figure))
		}
		l.width[c] = max(least[c], min(l.width[c], room-least[0]-gap))
	}
	for l.total(l.all()) > room {
		widest := -1
		for c := range l.width {
			if l.width[c] > least[c] && (widest < 0 || l.width[c] > l.width[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		l.width[widest]--
	}
	return l
}

func (l *layout) all() []int {
	out := make([]int, len(l.width))
	for i := range out {
		out[i] = i
	}
	return out
}

func (l *layout) total(part []int) int {
	sum := gap * (len(part) - 1)
	for _, c := range part {
		sum += l.width[c]
	}
	return sum
}

// parts are the columns that stand beside each other: the first, which names the rows, and
// as many others as there is room for.
func (l *layout) parts() [][]int {
	var out [][]int
	part := []int{0}
	for c := 1; c < len(l.width); c++ {
		if next := append(append([]int{}, part...), c); len(part) == 1 || l.total(next) <= l.room {
			part = next
			continue
		}
		out, part = append(out, part), []int{0, c}
	}
	return append(out, part)
}

func (l *layout) last() int { return len(l.parts()) - 1 }

func longestWord(s string) (n int) {
	for w := range strings.FieldsSeq(screen.Clean(s)) {
		n = max(n, utf8.RuneCountInString(w))
	}
	return n
}
