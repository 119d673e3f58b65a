package predict

import (
	"errors"
	"io"
)

// WriteHTML is being written.
func WriteHTML(w io.Writer, a *Answer) error { return errors.New("not yet") }
