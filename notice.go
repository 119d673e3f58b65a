// Package hostlab holds what goes with the binary wherever it goes.
package hostlab

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// License is hostlab's own.
//
//go:embed LICENSE
var License string

// packed is NOTICE, of which a binary needs a tenth of the bytes. notice_test.go writes both.
//
//go:embed NOTICE.gz
var packed []byte

// Notice has the licenses of all that is linked into the binary.
func Notice() (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(z) //nolint:gosec // it was packed by notice_test.go
	return string(text), err
}
