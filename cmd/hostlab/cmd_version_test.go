package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"hostlab/internal/testkit"
)

// The versions that a build names are those of the schemas, where there is one.
func TestVersionsOfDocuments(t *testing.T) {
	seen := 0
	for _, s := range schemas {
		text, err := os.ReadFile("../../docs/schema/" + s.command + ".schema.json")
		switch s.command {
		case "facts", "fleet", "settings", "check": // none, one for several documents, or made of the version
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var form struct {
			Properties struct {
				Schema struct {
					Const int   `json:"const"`
					Enum  []int `json:"enum"`
				} `json:"schema"`
			} `json:"properties"`
		}
		testkit.OK(t, json.Unmarshal(bytes.TrimSpace(text), &form))
		if got := append(form.Properties.Schema.Enum, form.Properties.Schema.Const)[0]; got != s.version {
			t.Errorf("%s: version says %d, and the schema %d", s.command, s.version, got)
		}
		seen++
	}
	if seen != 4 {
		t.Error(fmt.Sprint("compared ", seen))
	}
}
