package main

import "hostlab/internal/document"

// documentFormats are those that every document has.
var documentFormats = []string{"text", "json", "html", "markdown"}

// printDocument prints a document on standard output in a format that the command's flag has
// checked: text, json, html or markdown.
func printDocument(std streams, d *document.Document, format string) error {
	switch format {
	case "json":
		return document.WriteJSON(std.out, d.Data)
	case "html":
		return document.WriteHTML(std.out, d)
	case "markdown":
		return document.WriteMarkdown(std.out, d)
	}
	_, width := terminal(std.out)
	return document.WriteText(std.out, d, document.TextOptions{Width: width, Color: colour(std.out)})
}
