package document

import (
	"encoding/json"
	"io"
)

// WriteJSON prints data as indented JSON with a line end: the one place that does so. HTML
// characters stay as they are, since no page is made of it.
func WriteJSON(w io.Writer, data any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(data)
}
