package document

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
)

// TextOptions say how text is laid out.
type TextOptions struct {
	Width int  // columns; 0 means 80
	Color bool // ANSI colours; the caller honours NO_COLOR
	// Rows are those of a screen that shows the last ones: a longer text ends with its answer. 0: all rows can be seen.
	Rows int
	// Folds is where the screen folds what is not wrapped, as commands; 0: at Width.
	Folds int
}

// Rows are those of a terminal that does not tell.
const Rows = 24

var codes = map[Tone]string{Strong: screen.Bold, Quiet: screen.Dim, Good: screen.Green, Caution: screen.Yellow,
	Notice: screen.Cyan}

// WriteText prints a document for a terminal: the answer, what it is about, what limits
// it, then the sections.
func WriteText(w io.Writer, d *Document, o TextOptions) error {
	var b bytes.Buffer
	t := &text{screen.NewPrinter(&b, o.Width, o.Color), screen.Endless}
	if o.Rows > 0 { // on a screen, long commands go on in the next line
		t.commands = t.Width - len(indent)
	}
	t.answer(d)
	if len(d.About) > 0 {
		t.Raw("")
	}
	for _, s := range d.About {
		t.Text("", screen.Dim, s)
	}
	for i, s := range d.Warnings {
		if i == 0 {
			t.Raw("")
		}
		t.Hang("! ", screen.Yellow, s)
	}
	for _, s := range d.shown(Terminal) {
		t.section(&s)
	}
	if o.Rows > 0 && Folded(b.String(), cmp.Or(o.Folds, t.Width)) >= o.Rows { // the shell's prompt takes one
		t.Raw("")
		t.answer(d)
	}
	if err := t.Err(); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

var styles = lazyre.New("\x1b\\[[0-9;]*m")

// Folded are the rows that a text takes on a screen of so many columns.
func Folded(text string, columns int) (rows int) {
	for line := range strings.Lines(styles.ReplaceAllString(text, "")) {
		rows += max(1, (utf8.RuneCountInString(line)-1+columns-1)/columns) // without its end
	}
	return rows
}

type text struct {
	*screen.Printer
	commands int // columns of commands
}

func (t *text) answer(d *Document) {
	for _, l := range d.Answer {
		l.Tone = cmp.Or(l.Tone, Strong)
		t.Text("", codes[l.Tone], l.Text)
	}
}

const indent = "  "

func (t *text) section(s *Section) {
	head := false
	for _, b := range s.Blocks {
		if _, picture := b.(Figure); picture || pageOnly(b) {
			continue // the tables say it
		}
		between := head
		if !head {
			t.Head(s.Title)
			head = true
		}
		t.block(b, between)
	}
}

func (t *text) block(b Block, between bool) {
	switch b := b.(type) {
	case Line:
		t.Text(indent, codes[b.Tone], b.Text)
	case List:
		t.points(indent+"- ", b)
	case Pairs:
		t.pairs(b)
	case Commands:
		for _, c := range b {
			if c.Why != "" { // a hash before each line: all of it may be pasted
				for _, l := range screen.WrapFigures(c.Why, t.Width-len(indent)-2) {
					t.Raw(indent + t.Style(screen.Dim, "# "+l))
				}
			}
			for _, l := range screen.Commands(c.Line, t.commands) {
				t.Raw(indent + l)
			}
		}
	case *Table:
		if between {
			t.Raw("")
		}
		t.table(b)
	case *Bars:
		if between {
			t.Raw("")
		}
		t.bars(b)
	}
}

func (t *text) points(label string, list []Line) {
	for _, l := range list {
		if l.See == nil {
			t.Hang(label, codes[l.Tone], l.Text)
		}
	}
}

// pairs pads names to the longest one, within a third of the line.
func (t *text) pairs(all Pairs) {
	width := 0
	for _, p := range all {
		width = max(width, min(t.Width/3, utf8.RuneCountInString(screen.Clean(p.Name))))
	}
	for _, p := range all {
		name := screen.Clean(p.Name)
		label := indent + screen.Pad(name, width) + "  "
		if utf8.RuneCountInString(name) > width {
			t.Text(indent, screen.Dim, name)
			label = indent + strings.Repeat(" ", width+2)
		}
		if line, source := label+screen.Clean(p.Value), t.behind(label, p); source != "" {
			t.Raw(line + t.Style(screen.Dim, source))
		} else {
			t.Hang(label, codes[p.Tone], p.Value)
		}
		for _, m := range p.More {
			t.Hang(indent+strings.Repeat(" ", width+2), screen.Dim, m)
		}
	}
}

// behind is a pair's source with the space before it; "" where there is no room.
func (t *text) behind(label string, p Pair) string {
	used := utf8.RuneCountInString(label + screen.Clean(p.Value))
	at := max(t.Drawn()*3/5, used+gap)
	if s := shorten(screen.Clean(p.Source), t.Width-at); s != "" {
		return strings.Repeat(" ", at-used) + s
	}
	return ""
}

// shorten drops leading parts of a path until it fits; a path of which less than a name
// would be left is dropped whole.
func shorten(path string, room int) string {
	if utf8.RuneCountInString(path) <= room {
		return path
	}
	for i, r := range path {
		if rest := path[i:]; i > 0 && (r == '/' || r == '\\') && utf8.RuneCountInString(rest)+3 <= room {
			return "..." + rest
		}
	}
	return ""
}

func (t *text) table(b *Table) {
	if b.Title != "" {
		t.Text(indent, screen.Bold, b.Title)
	}
	if b.Lead != "" {
		t.Text(indent, screen.Dim, b.Lead)
	}
	rows := b.Rows
	if t.Width == screen.Endless {
		rows = inLines(rows)
	} else if b.Most > 0 && len(rows) > b.Most {
		rows = rows[:b.Most]
	}
	heads := make([]Cell, len(b.Columns))
	for i, c := range b.Columns {
		heads[i].Text = c.Head
	}
	layout := newLayout(b.Columns, rows, t.Width-len(indent))
	parts := layout.parts(keys(rows))
	if parts == nil {
		t.apart(b.Columns, rows)
	}
	for i, part := range parts {
		if i > 0 {
			t.Raw("")
		}
		t.row(layout, part, heads, screen.Dim)
		for _, r := range rows {
			switch {
			case r.Across != "" && i == 0:
				t.across(layout, r)
			case r.Across == "":
				t.row(layout, part, r.Cells, "")
			}
			if i == len(parts)-1 {
				t.points(indent+"  - ", r.Notes)
			}
		}
	}
	if more := len(b.Rows) - len(rows); more > 0 {
		t.Text(indent, screen.Dim, fmt.Sprintf("... and %s in --format html and json.", screen.Count(more, "more row")))
	}
}

// inLines has all of a cell in its first line, so that a row is one line.
func inLines(rows []Row) []Row {
	out := slices.Clone(rows)
	for i, r := range out {
		out[i].Cells = slices.Clone(r.Cells)
		for k, c := range r.Cells {
			out[i].Cells[k].Text, out[i].Cells[k].More = strings.Join(append([]string{c.Text}, c.More...), " "), nil
		}
	}
	return out
}

// keys is how many of the first columns name a row, so that no two have the same; 0: not even all of them do.
func keys(rows []Row) int {
	names, apart := make([]string, len(rows)), map[string]bool{}
	for k := 1; ; k++ {
		clear(apart)
		for i, r := range rows {
			if len(r.Cells) >= k {
				names[i] += r.Cells[k-1].Text + "\x00"
			} else if r.Across == "" {
				return 0
			}
			apart[names[i]] = true
		}
		if len(apart) == len(rows) {
			return k
		}
		if !slices.ContainsFunc(rows, func(r Row) bool { return len(r.Cells) > k }) {
			return 0
		}
	}
}

// apart writes each row by itself: its name, and its other cells below.
func (t *text) apart(columns []Column, rows []Row) {
	width := 0
	for _, c := range columns[1:] {
		width = max(width, min(t.Width/3, utf8.RuneCountInString(screen.Clean(c.Head))))
	}
	for _, r := range rows {
		t.Text(indent, screen.Bold, r.Cells[0].Text)
		for i, c := range r.Cells {
			if i > 0 {
				t.Hang(indent+indent+screen.Pad(screen.Clean(columns[i].Head), width)+strings.Repeat(" ", gap), codes[c.Tone],
					strings.Join(append([]string{c.Text}, c.More...), " "))
			}
		}
		if r.Across != "" {
			t.Text(indent+indent, "", r.Across)
		}
		t.points(indent+indent+"- ", r.Notes)
	}
}

// row writes the cells of some columns; those that name it stand before them.
func (t *text) row(l *layout, part []int, cells []Cell, code string) {
	var columns [][]string
	height := 1
	for _, c := range part {
		var lines []string
		for _, s := range append([]string{cells[c].Text}, cells[c].More...) {
			lines = append(lines, screen.WrapFigures(s, l.width[c])...)
		}
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	for h := range height {
		line := indent
		for i, c := range part {
			s := ""
			if h < len(columns[i]) {
				s = columns[i][h]
			}
			if i > 0 {
				line += strings.Repeat(" ", gap)
			}
			style := cmp.Or(code, codes[cells[c].Tone])
			line += t.Style(style, s) + strings.Repeat(" ", max(0, l.width[c]-utf8.RuneCountInString(s)))
		}
		t.Raw(line)
	}
}

// across writes a row that has one text in place of its cells.
func (t *text) across(l *layout, r Row) {
	name := screen.WrapFigures(r.Cells[0].Text, l.width[0])
	lines := screen.WrapFigures(r.Across, l.room-l.width[0]-gap)
	for h := range max(len(name), len(lines)) {
		line := strings.Repeat(" ", l.width[0])
		if h < len(name) {
			line = screen.Pad(name[h], l.width[0])
		}
		if h < len(lines) {
			line += strings.Repeat(" ", gap) + lines[h]
		}
		t.Raw(indent + line)
	}
}

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
		l.width[c] = utf8.RuneCountInString(screen.Clean(column.Head))
		if room < screen.Endless/2 {
			l.width[c] = min(l.width[c], longHead)
		}
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
		least[c] = max(least[c], min(l.width[c], screen.Narrowest)) // Wrap makes no narrower lines
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
	for c, column := range columns { // no head wraps where there is room
		more := utf8.RuneCountInString(screen.Clean(column.Head)) - l.width[c]
		if more > 0 && l.total(l.all())+more <= room {
			l.width[c] += more
		}
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

// parts are the columns that stand beside each other: those that name a row, and as many others as there is room for.
// nil: not even one has room beside the names.
func (l *layout) parts(names int) [][]int {
	if l.total(l.all()) <= l.room || len(l.width) == 1 {
		return [][]int{l.all()}
	}
	if names == 0 || names >= len(l.width) {
		return nil
	}
	var out [][]int
	part := l.all()[:names]
	for c := names; c < len(l.width); c++ {
		next := append(slices.Clone(part), c)
		if l.total(next) > l.room && len(part) > names {
			out, next = append(out, part), append(l.all()[:names], c)
		}
		if l.total(next) > l.room {
			return nil
		}
		part = next
	}
	return append(out, part)
}

func longestWord(s string) (n int) {
	for w := range strings.FieldsSeq(screen.Clean(s)) {
		n = max(n, utf8.RuneCountInString(w))
	}
	return n
}
