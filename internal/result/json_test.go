package result_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// No character that a terminal obeys is in the text of documents or records, and each value is as it was.
func TestJSONControls(t *testing.T) {
	for _, c := range "\x1b\x7f\u0080\u009b\u061c\u200e\u2028\u2029\u202e\u2066\u2069" {
		value := map[string]string{"k" + string(c): "a" + string(c) + "ä<&>"}
		document := testkit.Must(result.JSON(value, result.Indented))(t)
		record := testkit.Must(result.RecordJSON(value))(t)
		for _, text := range [][]byte{document, record} {
			if bytes.ContainsRune(text, c) {
				t.Errorf("%U is raw in %q", c, text)
			}
			var back map[string]string
			if err := json.Unmarshal(text, &back); err != nil || back["k"+string(c)] != "a"+string(c)+"ä<&>" {
				t.Errorf("%U: %q, %v", c, back, err)
			}
		}
	}
}

// What is unknown is null in a document and refused in a record, and lists are never null in documents.
func TestJSONUnknown(t *testing.T) {
	value := struct {
		N     float64            `json:"n"`
		Whole float64            `json:"whole"`
		List  []float64          `json:"list"`
		None  []string           `json:"none"`
		Map   map[string]float64 `json:"map"`
		Left  []int              `json:"left,omitempty"`
		Zero  int                `json:"zero,omitempty"`
		At    *float64           `json:"at"`
	}{N: math.NaN(), Whole: 1, List: []float64{math.Inf(1), 0.5}}
	got, err := result.JSON(value)
	if want := `{"n":null,"whole":1,"list":[null,0.5],"none":[],"map":{},"at":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if text, err := result.RecordJSON(value); err == nil {
		t.Errorf("a record holds %s", text)
	}
}
