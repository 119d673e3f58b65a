package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writer writes files below dir until the first error.
type writer struct {
	dir  string
	made map[string]bool
	err  error
}

func newWriter(dir string) *writer { return &writer{dir: dir, made: map[string]bool{}} }

func (w *writer) folder(path string) {
	if w.err != nil || w.made[path] {
		return
	}
	w.err = os.MkdirAll(filepath.Join(w.dir, path), 0o755)
	w.made[path] = true
}

// file writes one value with the newline that sysfs ends it with.
func (w *writer) file(path string, value any) {
	w.folder(filepath.Dir(path))
	if w.err == nil {
		w.err = os.WriteFile(filepath.Join(w.dir, path), []byte(fmt.Sprint(value)+"\n"), 0o644)
	}
}

// files writes several files of one folder: name, value, name, value, ...
func (w *writer) files(folder string, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		w.file(folder+"/"+pairs[i].(string), pairs[i+1])
	}
}

// link makes a link to another path of the machine, relative as in sysfs.
func (w *writer) link(path, target string) {
	w.folder(filepath.Dir(path))
	if w.err != nil {
		return
	}
	rel, err := filepath.Rel("/"+filepath.Dir(path), "/"+target)
	if err != nil {
		w.err = err
		return
	}
	if err := os.Symlink(rel, filepath.Join(w.dir, path)); err != nil {
		w.err = err
	}
}

// Unpack has extract, which is host.ExtractArchive, unpack a machine's text into a folder that goes with the test.
func Unpack(t testing.TB, extract func(data []byte, dir string) error, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := extract([]byte(archive), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
