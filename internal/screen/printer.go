package screen

import (
	"io"
	"strings"
)

// Printer writes a report's lines on a terminal and keeps the first error.
type Printer struct {
	Width int // columns
	w     io.Writer
	color bool
	err   error
}

// widest is the widest column of text that is pleasant to read.
const widest = 100

// Endless is the width of what is no terminal: nothing is wrapped or cut there, since programs read lines.
const Endless = 1 << 30

// NewPrinter makes a printer for a terminal of width columns, 0 means 80, or an Endless one.
func NewPrinter(w io.Writer, width int, color bool) *Printer {
	if width <= 0 {
		width = 80
	}
	if width < Endless {
		width = min(width, widest)
	}
	return &Printer{w: w, color: color, Width: width}
}

// Drawn is the width for what fills a line, as bars do.
func (t *Printer) Drawn() int { return min(t.Width, widest) }

// Err is the first error of writing.
func (t *Printer) Err() error { return t.err }

// The few styles; every one is an SGR code. No meaning hangs on them alone.
const (
	Bold   = "1"
	Dim    = "2"
	Green  = "32"
	Yellow = "1;33"
	Cyan   = "36"
)

// Style colours s where colours are wanted.
func (t *Printer) Style(code, s string) string {
	if !t.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Raw writes one line.
func (t *Printer) Raw(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, strings.TrimRight(s, " ")+"\n")
	}
}

func (t *Printer) Text(indent, code, s string) {
	for _, l := range WrapFigures(s, t.Width-len(indent)) {
		t.Raw(indent + t.Style(code, l))
	}
}

// Hang wraps a paragraph after a label.
func (t *Printer) Hang(label, code, s string) {
	for i, l := range WrapFigures(s, t.Width-len(label)) {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		t.Raw(t.Style(Dim, label) + t.Style(code, l))
	}
}

func (t *Printer) Head(s string) {
	t.Raw("")
	t.Text("", Bold, strings.ToUpper(s))
}
