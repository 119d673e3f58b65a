package document

import (
	"io"

	"hostlab/internal/result"
)

// WriteJSON prints data as indented JSON.
func WriteJSON(w io.Writer, data any) error {
	text, err := result.JSON(data, result.Indented)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
