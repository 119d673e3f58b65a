//go:build system && linux

package trust

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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
		testkit.OK(t, err)
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

// A stream of another user is refused without opening it, and one that is put in the place of
// what was looked at as well. What is ours, root's, or was handed to this process is written to.
func TestOutput(t *testing.T) {
	testkit.Root(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	r, w, err := os.Pipe() // as sudo(8) hands on a pipe of its caller's shell
	testkit.OK(t, err)
	defer r.Close()
	defer w.Close()
	for _, err := range []error{
		os.WriteFile(at("victim"), []byte("keep"), 0o600),
		unix.Mkfifo(at("fifo"), 0o600), unix.Mkfifo(at("theirs"), 0o666), os.Chown(at("theirs"), 12345, 12345),
		unix.Mknod(at("null"), unix.S_IFCHR|0o666, 1<<8|3), unix.Mknod(at("disk"), unix.S_IFBLK|0o600, 7<<8|250),
		os.Symlink("fifo", at("to fifo")), os.Symlink("theirs", at("to theirs")), os.Symlink("victim", at("swapped")),
		w.Chown(12345, 12345),
	} {
		testkit.OK(t, err)
	}
	_, err = NewOutput(at("theirs"))
	refused(t, err, "theirs is a FIFO that belongs to uid 12345")
	_, err = NewOutput(at("to theirs"))
	refused(t, err, "theirs is a FIFO that belongs to uid 12345")
	_, err = NewOutput(at("disk"))
	refused(t, err, "disk is a device, to which no report is written")
	for _, name := range []string{"victim", "none"} {
		if o, err := NewOutput(at(name)); err != nil || o.Stream() {
			t.Errorf("%s: %v", name, err)
		}
	}
	o, err := NewOutput(at("fifo"))
	if err != nil || !o.Stream() {
		t.Fatal(err)
	}
	_, err = o.Open()
	refused(t, err, "fifo is a FIFO that no program reads")
	for _, name := range []string{"swapped", "theirs", "null"} {
		testkit.OK(t, unix.Renameat2(unix.AT_FDCWD, at("fifo"), unix.AT_FDCWD, at(name), unix.RENAME_EXCHANGE))
		reader := testkit.Must(os.OpenFile(at("fifo"), os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
		_, err := o.Open()
		refused(t, err, "was replaced while it was opened")
		reader.Close()
		testkit.OK(t, unix.Renameat2(unix.AT_FDCWD, at("fifo"), unix.AT_FDCWD, at(name), unix.RENAME_EXCHANGE))
	}
	testkit.Is(t, "keep", string(testkit.Must(os.ReadFile(at("victim")))(t)))
	reader := testkit.Must(os.OpenFile(at("fifo"), os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
	defer reader.Close()
	for name, from := range map[string]io.Reader{
		at("fifo"): reader, at("to fifo"): reader, at("null"): nil, "/dev/null": nil,
		fmt.Sprintf("/dev/fd/%d", w.Fd()): r, fmt.Sprintf("/proc/self/fd/%d", w.Fd()): r,
		fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), w.Fd()): r,
	} {
		o, err := NewOutput(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := o.Open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b := make([]byte, 2)
		if from != nil {
			if n, err := from.Read(b); err != nil || string(b[:n]) != "x" {
				t.Errorf("%s: %q, %v", name, b[:n], err)
			}
		}
		f.Close()
		o.Close()
	}
}
