package experiment

import (
	"strings"
	"testing"

	"hostlab/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestBadStudies holds the exact lines that unusable studies get: each names file,
// line, and what to do.
func TestBadStudies(t *testing.T) {
	const name = "testdata/bad.txtar"
	a := testkit.Must(txtar.ParseFile(name))(t)
	want := map[string]string{}
	for _, f := range a.Files {
		want[f.Name] = string(f.Data)
	}
	var out []txtar.File
	for _, f := range a.Files {
		base, ok := strings.CutSuffix(f.Name, ".toml")
		if !ok {
			continue
		}
		_, err := Parse(f.Name, t.TempDir(), f.Data, Overrides{}, everything())
		if err == nil {
			t.Errorf("%s: no problem found", f.Name)
			continue
		}
		got := err.Error() + "\n"
		out = append(out, f, txtar.File{Name: base + ".want", Data: []byte(got)})
		if diff := cmp.Diff(want[base+".want"], got); diff != "" && !testkit.Update() {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	a.Files = out
	testkit.Write(t, name, string(txtar.Format(a)))
}
