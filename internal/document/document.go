// Package document holds what a command reports, apart from how it looks: an answer, what
// limits it, and sections of sentences, tables, figures and commands. [WriteText],
// [WriteMarkdown], [WriteHTML] and [WriteJSON] each print any document. A command builds
// one Document; it knows no widths, no escapes and no tags.
//
// All text may come from the host: each writer makes it safe for its own medium.
package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/picture"
)

// Head is what each document's JSON begins with: what it is, and the version of its form.
type Head struct {
	Kind   string `json:"kind"`
	Schema int    `json:"schema"`
}

type Document struct {
	Name     string    // what reports: "assess", "experiment"; the page shows it as its brand
	Title    string    // of the page: what was looked at, and where, as in "PostgreSQL 15.8 on db1"
	When     time.Time // it was looked at; zero: not known, or of no moment
	Answer   []Line    // sentences, the most important first; at least one
	About    []string  // what was looked at, where, when, with which evidence
	Warnings []string  // what limits the answer
	Sections []Section // in the order in which they are read
	Rows     *Table    // what CSV has; nil: the first table that a page shows
	Footer   string    // of the page
	// Data is the report as JSON: a struct with the schema that docs/schema has of it.
	Data any
	// PageData is what a page holds in place of Data where that is too large; nil: Data.
	PageData any
	// Style holds CSS rules of figures that only this report draws.
	Style []byte
}

// Line is a sentence or two.
type Line struct {
	Text string
	Tone Tone
	// See are anchors that a page links to behind the text. A line with some stands on pages alone.
	See []string
}

// Tone says how a line or a cell is meant. No meaning hangs on it alone: the words say it.
type Tone string

// The tones. The zero value is plain.
const (
	Strong  Tone = "strong"
	Quiet   Tone = "quiet"
	Good    Tone = "good"
	Caution Tone = "caution" // something is wrong, or costs
	Notice  Tone = "notice"  // something is better than what it is compared with
)

// Section is a heading with what stands below it; without any of that it is not shown.
type Section struct {
	Title  string
	Anchor string // what See names; "": nothing refers to it
	Blocks []Block
	// Where says which media show it; the zero value is all of them.
	Where Medium
	// Folded sections are closed on a page until the reader opens them.
	Folded bool
}

func Titled(title string, blocks ...Block) Section { return Section{Title: title, Blocks: blocks} }

// On has a section shown in one medium.
func (s Section) On(m Medium) Section { s.Where = m; return s }

func (s Section) Closed() Section { s.Folded = true; return s }

// Medium is where a section is shown.
type Medium int

// The media of sections.
const (
	Everywhere Medium = iota
	Terminal          // text alone: a short form of what the page has in full
	Page              // HTML and Markdown alone: too much for a terminal
)

// Block is a part of a section: Line, List, Pairs, *Table, *Bars, Figure or Commands; on a site also Links and Form.
type Block interface{ block() }

// List holds points of equal rank.
type List []Line

// Pairs holds named values, as facts are.
type Pairs []Pair

// Pair is a name and its value. Further lines stand below the value.
type Pair struct {
	Name, Value string
	Source      string // where the value was read; a terminal shows it where there is room
	More        []string
	Tone        Tone
}

// Commands holds what the reader may type next.
type Commands []Command

// Command is one shell command, or several lines of them, with the reason for it.
type Command struct {
	Why  string // a sentence without its full stop; "" for none
	Line string
}

// Figure is a picture; only a page shows it. A table of the document, or the figure's own
// table, says the same in figures.
type Figure struct{ picture.Figure }

// Table is a table whose first column names its rows.
type Table struct {
	Title   string // "" where the section's title says it
	Lead    string // how to read it
	Columns []Column
	Rows    []Row
	// Most is how many rows a terminal shows; 0 for all. Pages and Markdown show all.
	Most int
	// Links stand below it on a page of a site: to other rows, and to the same as CSV.
	Links Links
}

// Column is a column of a table.
type Column struct {
	Head  string
	Right bool   // figures: aligned to the right on a page
	Unit  string // of its figures in CSV; "": none, or text
	Whole bool   // its texts stay in one line on a page: dates, hashes
	// Link asks a site's server for the rows sorted by this column, and Sorted says that they are: "ascending",
	// "descending" or "". Without links a page sorts its rows itself.
	Link, Sorted string
}

// Row has a cell for each column. A row with Across has its name alone in Cells, and
// Across in place of all other columns.
type Row struct {
	Cells  []Cell
	Across string
	Anchor string // as a section's
	Notes  []Line // stand below the row
}

func (t *Table) Add(cells ...Cell) *Row {
	t.Rows = append(t.Rows, Row{Cells: cells})
	return &t.Rows[len(t.Rows)-1]
}

// Row appends a row of texts, whole numbers and cells.
func (t *Table) Row(values ...any) *Row {
	cells := make([]Cell, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case Cell:
			cells[i] = v
		case int:
			cells[i] = Number(float64(v), strconv.Itoa(v))
		default:
			cells[i] = Text(fmt.Sprint(v))
		}
	}
	return t.Add(cells...)
}

// Cell holds the figure first, then lines on how sure it is: its interval, its n.
type Cell struct {
	Text string
	More []string
	Tone Tone
	Sort float64 // what a page sorts the column by; NaN or 0: by the text
	Link string  // the page of a site that the text leads to; "": none
	// Command is set where the text is one to be typed.
	Command bool
}

// Text makes a cell of plain text.
func Text(s string, more ...string) Cell { return Cell{Text: s, More: more} }

// Texts makes cells of plain text.
func Texts(all ...string) []Cell {
	out := make([]Cell, len(all))
	for i, s := range all {
		out[i].Text = s
	}
	return out
}

// Number makes a cell that sorts by its value.
func Number(v float64, s string, more ...string) Cell { return Cell{Text: s, More: more, Sort: v} }

// Exact makes a cell of a table for other programs: a value in full, empty where it is unknown or without end.
func Exact(v float64) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Number(v, "")
	}
	return Number(v, strconv.FormatFloat(v, 'g', -1, 64))
}

// Columns are those of a table.
type Columns []Column

// Headings makes columns whose cells are figures, behind a first one of names.
func Headings(names string, figures ...string) Columns {
	return Columns{{Head: names}}.Figures(figures...)
}

// Figures appends columns whose cells are figures.
func (c Columns) Figures(heads ...string) Columns { return c.add(Column{Right: true}, heads) }

// Names appends columns of texts.
func (c Columns) Names(heads ...string) Columns { return c.add(Column{}, heads) }

// Wholes appends columns of texts that stay in one line, such as dates.
func (c Columns) Wholes(heads ...string) Columns { return c.add(Column{Whole: true}, heads) }

func (c Columns) add(like Column, heads []string) Columns {
	for _, like.Head = range heads {
		c = append(c, like)
	}
	return c
}

// Lines makes lines of one tone.
func Lines(tone Tone, texts ...string) []Block {
	out := make([]Block, len(texts))
	for i, s := range texts {
		out[i] = Line{Text: s, Tone: tone}
	}
	return out
}

// Points makes a list of lines of one tone.
func (t Tone) Points(texts ...string) List {
	out := make(List, len(texts))
	for i, s := range texts {
		out[i] = Line{Text: s, Tone: t}
	}
	return out
}

// Points makes a list of plain lines.
func Points(texts ...string) List { return Tone("").Points(texts...) }

func (Line) block()     {}
func (List) block()     {}
func (Pairs) block()    {}
func (Commands) block() {}
func (Figure) block()   {}
func (*Table) block()   {}

// pageOnly reports a block that a page alone shows.
func pageOnly(b Block) bool {
	switch b := b.(type) {
	case Line:
		return b.See != nil
	case Links, Form:
		return true
	}
	return false
}

// Sortable reports whether a page sorts the cell by its number.
func (c Cell) Sortable() bool { return c.Sort != 0 && !math.IsNaN(c.Sort) && !math.IsInf(c.Sort, 0) }

func (d *Document) shown(where Medium) []Section {
	var out []Section
	for _, s := range d.Sections {
		s.Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), empty)
		if len(s.Blocks) > 0 && (s.Where == Everywhere || s.Where == where) {
			out = append(out, s)
		}
	}
	return out
}

// FirstTable is the one that a document's CSV has, also without a row, so that programs find its head; nil: there is
// none.
func (d *Document) FirstTable() *Table {
	if d.Rows != nil {
		return d.Rows
	}
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if t, ok := b.(*Table); ok && t != nil && s.Where != Terminal {
				return t
			}
		}
	}
	return nil
}

// PairRows are the named values of some sections, a row each.
func PairRows(sections []Section) *Table {
	t := &Table{Columns: Columns{}.Names("section", "name", "value", "source")}
	for _, s := range sections {
		for _, b := range s.Blocks {
			pairs, _ := b.(Pairs)
			for _, p := range pairs {
				t.Add(Texts(s.Title, p.Name, strings.Join(append([]string{p.Value}, p.More...), "; "), p.Source)...)
			}
		}
	}
	return t
}

// empty reports a block without anything in it.
func empty(b Block) bool {
	switch b := b.(type) {
	case List:
		return len(b) == 0
	case Pairs:
		return len(b) == 0
	case Commands:
		return len(b) == 0
	case *Table:
		return b == nil || len(b.Rows) == 0
	case *Bars:
		return b == nil || len(b.Rows) == 0
	case Figure:
		return b.SVG == ""
	case Links:
		return len(b.List) == 0
	case Line:
		return b.Text == "" && b.See == nil
	}
	return b == nil
}
