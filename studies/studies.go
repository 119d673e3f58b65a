// Package studies holds the study files that ship inside the binary. Each is a
// TOML file beside this one, named as the study is.
package studies

import (
	"embed"
	"encoding/json"
)

// Files holds NAME.toml for every study.
//
//go:embed *.toml
var Files embed.FS

// Schema is the JSON Schema of study files. A test of package experiment writes it from the types by which
// studies are read.
//
//go:embed study.schema.json
var Schema []byte

// Help returns what each parameter of a workload is, by its name, as the schema describes it.
func Help(workload string) map[string]string {
	type about struct{ Description string }
	var doc struct {
		Properties struct {
			Workload struct {
				AllOf []struct {
					If struct {
						Properties struct{ Name struct{ Const string } }
					}
					Then struct{ Properties map[string]json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal(Schema, &doc); err != nil {
		panic(err) // it is inside the binary
	}
	out := map[string]string{}
	for _, each := range doc.Properties.Workload.AllOf {
		if each.If.Properties.Name.Const != workload {
			continue
		}
		for name, text := range each.Then.Properties {
			var a about
			if json.Unmarshal(text, &a) == nil { // one that every workload takes is true
				out[name] = a.Description
			}
		}
	}
	return out
}
