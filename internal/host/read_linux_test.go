package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// A FIFO in a given tree has no writer: opening it must not wait for one.
func TestReadOfFIFO(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	done := make(chan Fact[string], 1)
	go func() { done <- Tree{Root: dir}.Word("/fifo") }()
	select {
	case f := <-done:
		testkit.Is(t, StateError, f.State, "a FIFO is")
	case <-time.After(time.Until(testkit.End(t))):
		t.Fatal("reading a FIFO hangs")
	}
}

// Links of a recorded tree lead to its own files, never to those of the machine
// that we run on.
func TestLinksStayInTheTree(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("ours"), 0o644))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "recorded"), []byte("theirs"), 0o644))
	for name, target := range map[string]string{
		"absolute": "/recorded", "up": "../../../../../../recorded", "out": filepath.Join(outside, "secret"), "folder": outside,
	} {
		testkit.OK(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	tree := Tree{Root: dir}
	for path, want := range map[string]string{"/absolute": "theirs", "/up": "theirs", "/out": "", "/folder/secret": "", "/../../recorded": "theirs"} {
		testkit.Is(t, want, tree.Text(path).Or(""), path, "reads")
	}
	if tree.Exists("/out") || !tree.Exists("/absolute") {
		t.Error("Exists follows a link out of the tree, or none within it")
	}
	testkit.Refused(tree.Dir("/folder"))(t, "", "Dir follows a link out of the tree")
}
