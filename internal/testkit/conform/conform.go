// Package conform compares JSON with docs/schema. It stands beside testkit, whose other users link no schemas.
package conform

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// To fails where a document is not what a schema, a file of docs/schema, describes, and returns it.
func To(t testing.TB, schema string, text []byte, about ...any) map[string]any {
	t.Helper()
	dir := "docs/schema"
	for i := 0; i < 5; i++ {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, schema))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.Validate(v)
	}
	doc, is := v.(map[string]any)
	if err != nil || !is {
		t.Fatal(append(about, err, "\n"+string(text[:min(len(text), 2000)]))...)
	}
	return doc
}
