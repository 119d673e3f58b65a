package document

import (
	"bytes"
	"encoding/json"
	"testing"
)

// No character that a terminal obeys is in the text, and each value is as it was.
func TestJSONControls(t *testing.T) {
	for _, c := range "\x1b\x7f\u0080\u009b\u061c\u200e\u2028\u2029\u202e\u2066\u2069" {
		var b bytes.Buffer
		if err := WriteJSON(&b, map[string]string{"k" + string(c): "a" + string(c) + "ä"}); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(b.Bytes(), c) {
			t.Errorf("%U is raw in %q", c, b.String())
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back["k"+string(c)] != "a"+string(c)+"ä" {
			t.Errorf("%U: %q, %v", c, back, err)
		}
	}
}
