package document

import "io"

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
