package scanlock

import (
	"os"
	"path/filepath"
	"testing"
)

// The tightest group counts, of this process or above it, in either version.
func TestLeftIn(t *testing.T) {
	root := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "memory.max", "1000\n")
	write("a", "memory.current", "900\n")
	write("a", "memory.stat", "anon 5\ninactive_file 300\n")
	write("a/b", "memory.max", "max\n")
	write("a/b", "memory.current", "10\n")
	write("c", "memory.max", "50\n")
	write("c", "memory.current", "70\n")
	for path, want := range map[string]int64{"/": 5000, "/a": 400, "/a/b": 400, "/a/b/gone": 400, "/c": 0} {
		var dirs []string
		for dir := path; ; dir = filepath.Dir(dir) {
			if dirs = append(dirs, filepath.Join(root, dir)); dir == "/" {
				break
			}
		}
		if got := leftIn(2, dirs, 5000); got != want {
			t.Errorf("%s leaves %d, want %d", path, got, want)
		}
	}
	write("c", "memory.stat", "inactive_file 1\ntotal_inactive_file 25\n")
	if got := leftIn(2, []string{filepath.Join(root, "c")}, 5000); got != 5 {
		t.Errorf("with all below: %d", got)
	}
	if got := freeMemory(); got < 1<<20 {
		t.Errorf("%d bytes are free here", got)
	}
}
