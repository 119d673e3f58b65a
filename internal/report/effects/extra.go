package effects

import (
	"html/template"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
)

// extra is what one study's report has beside its effects: a verdict by a rule of
// its own, or the table of the document that it repeats. A study names it with
// section = "..." and the record keeps the name.
type extra interface {
	// text is paragraphs and tables of at most width columns.
	text(width int) string
	// html is the body of a <section>, with a heading and perhaps pictures.
	html() template.HTML
	// json goes into the report's JSON below "section".
	json() any
}

// extras lists them by name. Each gets the runs that count.
var extras = map[string]func(a *analysis.Analysis, runs []result.Run) extra{}
