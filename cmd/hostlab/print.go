package main

import (
	"io"

	"hostlab/internal/document"
)

// documentFormats are those that every document has.
var documentFormats = []string{"text", "json", "html", "markdown"}

// printDocument prints a document on standard output in a format that the command's flag has
// checked: text, json, html or markdown.
func printDocument(std streams, d *document.Document, format string) error {
	return writeDocument(std.out, d, format)
}

// writeDocument is printDocument for any writer.
func writeDocument(w io.Writer, d *document.Document, format string) error {
	switch format {
	case "json":
		return document.WriteJSON(w, d.Data)
	case "html":
		return document.WriteHTML(w, d)
	case "markdown":
		return document.WriteMarkdown(w, d)
	}
	_, width := terminal(w)
	return document.WriteText(w, d, document.TextOptions{Width: width, Color: colour(w)})
}
