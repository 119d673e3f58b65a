package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// A tree that anybody made is not left, and nothing but its
// regular files is read.
func TestTreeIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "sys"), 0o755), os.WriteFile(outside, []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(root, "sys", "v"), []byte("1\n"), 0o644),
		os.Symlink(outside, filepath.Join(root, "sys", "absolute")), os.Symlink("../../outside", filepath.Join(root, "sys", "relative")),
		os.Symlink("v", filepath.Join(root, "sys", "within")),
		syscall.Mkfifo(filepath.Join(root, "sys", "fifo"), 0o666),
		syscall.Mknod(filepath.Join(root, "sys", "device"), syscall.S_IFCHR|0o666, 1<<8|5), // zero
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tree := Tree{Root: root}
	for _, name := range []string{"absolute", "relative", "fifo", "device"} {
		path := "/sys/" + name
		if b, err := tree.Read(path); err == nil {
			t.Errorf("%s: %q", path, b[:min(len(b), 10)])
		}
	}
	if got := tree.Text("/sys/device"); !strings.Contains(got.Reason, "no regular file") {
		t.Errorf("%+v", got)
	}
	testkit.Is(t, "1", tree.Text("/sys/within").Value)
}
