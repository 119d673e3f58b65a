package runner

import (
	"os"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/result/store"
)

// The study of a record of the first version is still the same study, so that it can be gone on with.
func TestFirstVersion(t *testing.T) {
	a, err := txtar.ParseFile("../../result/store/testdata/first.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.FS(a)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	st, err := Recorded(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := same(r, st); err != nil || st.Design.Seed != 7 || len(st.Factors) != 2 || len(st.Factors[0].Directories) != 3 {
		t.Errorf("%v: %+v", err, st.Factors)
	}
}
