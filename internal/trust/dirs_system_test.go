//go:build system && linux

package trust

import (
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

// Directories are made through links of ours, also dangling ones, and not through those of another user.
func TestMkdirAll(t *testing.T) {
	testkit.Root(t)
	dir, eves := t.TempDir(), testkit.EvesDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(at("to"), 0o755), os.WriteFile(at("file"), []byte("keep"), 0o600),
		os.Symlink("to", at("ours")), os.Symlink("new", at("dangling")), os.Symlink(at("to"), filepath.Join(eves, "way")),
		os.Symlink(at("made"), filepath.Join(eves, "none")),
		os.Lchown(filepath.Join(eves, "way"), testkit.Eve, testkit.Eve),
		os.Lchown(filepath.Join(eves, "none"), testkit.Eve, testkit.Eve),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a/b/c": "a/b/c", "to": "to", "ours/x/y": "to/x/y", "dangling/z": "new/z"} {
		if err := MkdirAll(at(name), 0o755); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Lstat(at(want)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, name := range []string{"way/x/deep", "none", "none/x"} {
		refused(t, MkdirAll(filepath.Join(eves, name), 0o755), "belongs to uid 54321")
	}
	refused(t, MkdirAll(at("file/x"), 0o755), "is a file, not a directory")
	for _, name := range []string{"to/x/deep", "made"} {
		testkit.Refused(os.Lstat(at(name)))(t, "", name, "was made through another user's link")
	}
	refused(t, Remove(filepath.Join(eves, "way", "f")), "belongs to uid 54321")
	if err := Remove(at("dangling")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(at("new")); err != nil {
		t.Error("what a link led to was removed")
	}
}
