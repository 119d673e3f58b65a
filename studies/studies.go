// Package studies holds the study files that ship inside the binary. Each is a
// TOML file beside this one, named as the study is.
package studies

import "embed"

// Files holds NAME.toml for every study.
//
//go:embed *.toml
var Files embed.FS

// Schema is the JSON Schema of study files. A test of package experiment writes it from the types by which
// studies are read.
//
//go:embed study.schema.json
var Schema []byte
