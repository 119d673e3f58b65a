package main

import (
	"encoding/json"
	"os"
	"testing"

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
			Definitions map[string]struct {
				Properties struct {
					Schema struct{ Const int }
				}
			} `json:"$defs"`
		}
		testkit.OK(t, json.Unmarshal(text, &form))
		says := 0
		for _, d := range form.Definitions {
			says = max(says, d.Properties.Schema.Const)
		}
		testkit.Is(t, s.version, says, s.command, "version says", "and the schema")
		seen++
	}
	testkit.Is(t, 4, seen, "compared")
}
