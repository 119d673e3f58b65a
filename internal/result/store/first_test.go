package store

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A record of another schema is refused by that, whatever else in it cannot be read.
func TestAnotherSchema(t *testing.T) {
	a, err := txtar.ParseFile("testdata/first.txtar")
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
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "has schema 1; this hostlab reads schema 2") {
		t.Error(err)
	}
}
