package picture

import "html/template"

// HTML is markup that the program has made and escaped.
type HTML = template.HTML

// Figure is a picture with its heading and what it shows in a sentence or two.
type Figure struct {
	Title, Note string
	SVG         HTML
	Wide        bool
	Table       *Table // the same in figures; nil where the page has it elsewhere
}

// Table is a plain table. The first column names its rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}
