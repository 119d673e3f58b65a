package effects

import (
	"io"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/testkit"
)

// The formats of documents, as the command prints them.

func WriteHTML(w io.Writer, s *Set) error     { return document.WriteHTML(w, s.Document()) }
func WriteMarkdown(w io.Writer, s *Set) error { return document.WriteMarkdown(w, s.Document()) }
func WriteJSON(w io.Writer, s *Set) error     { return document.WriteJSON(w, s.Document().Data) }

func WriteText(w io.Writer, s *Set, o Options) error {
	return document.WriteText(w, s.Document(), o)
}

type Options = document.TextOptions

// parts are the tables of a section and its lines.
func parts(e logDevice) (tables []*document.Table, lines []string) {
	for _, b := range e.section("").Blocks {
		switch b := b.(type) {
		case *document.Table:
			tables = append(tables, b)
		case *document.Bars:
			tables = append(tables, b.Table)
		case document.Line:
			lines = append(lines, b.Text)
		}
	}
	return tables, lines
}

// printed is a section as Markdown.
func printed(t *testing.T, e logDevice) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, document.WriteMarkdown(&b, &document.Document{Sections: []document.Section{e.section("")}}))
	return b.String()
}
