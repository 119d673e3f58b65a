// Package hostlab holds what goes with the binary wherever it goes.
package hostlab

import _ "embed"

// License is hostlab's own.
//
//go:embed LICENSE
var License string

// Notice has the licenses of all that is linked into the binary. notice_test.go writes it.
//
//go:embed NOTICE
var Notice string
