package setting

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Below a root, no path and no link leads to files of the machine itself.
func TestRootIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	if err := os.MkdirAll(filepath.Join(root, "sys"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"absolute": outside, "relative": "../../outside"} {
		if err := os.Symlink(to, filepath.Join(root, "sys", name)); err != nil {
			t.Fatal(err)
		}
	}
	f := files{root}
	for _, path := range []string{"/sys/absolute", "/sys/relative", "/../outside", "/sys/../../outside"} {
		if err := f.WriteFile(path, []byte("x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := f.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if b, _ := os.ReadFile(outside); string(b) != "untouched" {
		t.Errorf("%q", b)
	}
	if names, _ := os.ReadDir(root); len(names) != 1 {
		t.Errorf("a write made a file: %v", names)
	}
}

// A shorter value leaves nothing of a longer one, in one write.
func TestPlainFile(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "v"), []byte("performance\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := files{root}
	for _, want := range []string{"power", "balance_performance", "1"} {
		if err := f.WriteFile("/v", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if b, err := f.ReadFile("/v"); err != nil || Value(b) != want {
			t.Errorf("%q, %v, want %s", b, err, want)
		}
	}
	if err := f.Writable("/v"); err != nil {
		t.Error(err)
	}
}
