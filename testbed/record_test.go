//go:build linux && amd64

package testbed

import (
	"encoding/json"
	"os"
	"testing"

	"hostlab/internal/testkit"
)

// recorded is what guests have shown, by the guest's name.
const recorded = "testdata/settings.json"

// tried is what one guest has shown of all settings.
type tried struct {
	Guest   string            `json:"guest"`
	Rows    []row             `json:"rows"`
	Missing map[string]string `json:"missing"` // settings that were not tried, and why
}

// row is one value of one setting: what trial says of it.
type row struct {
	Setting string `json:"setting"`
	Objects string `json:"objects"`
	Before  string `json:"before"`
	Set     string `json:"set"`
	Read    string `json:"read"`
	Oracle  string `json:"oracle"`
	Verify  string `json:"verify"`
	Revert  string `json:"revert"`
}

func readRecord(t *testing.T) (record []tried) {
	t.Helper()
	b, err := os.ReadFile(recorded)
	if err == nil {
		err = json.Unmarshal(b, &record)
	}
	if err != nil && !testkit.Update() {
		t.Fatal(err)
	}
	return record
}
