package check

import (
	"encoding/json"
	"io"
)

// jsonSchema is the version of the output's form; docs/schema/check.schema.json
// describes it.
const jsonSchema = 1

// WriteJSON prints results for scripts. Lists are never null.
func WriteJSON(w io.Writer, hostname string, role Role, results []Result) error {
	out := struct {
		Schema  int      `json:"schema"`
		Host    string   `json:"host"`
		Role    Role     `json:"role"`
		Results []Result `json:"results"`
	}{jsonSchema, hostname, role, make([]Result, len(results))}
	copy(out.Results, results)
	for i := range out.Results {
		if out.Results[i].Evidence == nil {
			out.Results[i].Evidence = []Evidence{}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // remedies hold < > and &
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
