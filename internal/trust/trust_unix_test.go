//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var r *Refused
	if !errors.As(err, &r) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a refusal with %q", err, want)
	}
}

func TestOpenFile(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	write(t, outside, "keep")
	write(t, filepath.Join(dir, "plain"), "old")
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(outside+"-none", filepath.Join(dir, "dangling")),
		os.Link(outside, filepath.Join(dir, "hard")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	began := time.Now()
	for name, want := range map[string]string{"link": "symbolic link", "dangling": "symbolic link", "hard": "2 names", "fifo": "FIFO", ".": "directory"} {
		_, err := OpenFile(root, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		refused(t, err, want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("refusing took %v", took)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "keep" {
		t.Errorf("outside holds %q, %v", b, err)
	}
	if _, err := os.Lstat(outside + "-none"); err == nil {
		t.Error("the target of a dangling link was made")
	}
	f, err := OpenFile(root, "plain", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("size %d after truncation, %v", info.Size(), err)
	}
}

func TestParents(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(real, "a", "b")
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Parents(made); err != nil || got != made {
		t.Errorf("%q, %v", got, err)
	}
	link := filepath.Join(real, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if got, err := Parents(filepath.Join(link, "b")); err != nil || got != made {
		t.Errorf("by a link: %q, %v", got, err)
	}
	if err := os.Symlink("loop", filepath.Join(real, "loop")); err != nil {
		t.Fatal(err)
	}
	_, err = Parents(filepath.Join(real, "loop"))
	refused(t, err, "too many links")
	if err := os.Chmod(filepath.Join(real, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = Parents(made)
	refused(t, err, "written to by everyone")
	if err := os.Chmod(filepath.Join(real, "a"), os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Parents(made); err != nil {
		t.Errorf("below a sticky directory: %v", err)
	}
	_, err = Parents(filepath.Join(real, "a"))
	refused(t, err, "written to by everyone")
	write(t, filepath.Join(real, "file"), "")
	_, err = Parents(filepath.Join(real, "file"))
	refused(t, err, "not a directory")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenDir(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(real, "a", "b")
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(made, "file"), "here")
	root, err := OpenDir(made)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if b, err := root.ReadFile("file"); err != nil || string(b) != "here" || root.Name() != made {
		t.Errorf("%q in %s, %v", b, root.Name(), err)
	}
	for link, to := range map[string]string{"absolute": made, "relative": "a", "magic": "/proc/self/cwd"} {
		if err := os.Symlink(to, filepath.Join(real, link)); err != nil {
			t.Fatal(err)
		}
		_, err := OpenDir(filepath.Join(real, link))
		refused(t, err, "symbolic link")
		_, err = OpenDir(filepath.Join(real, link, "b"))
		refused(t, err, "symbolic link")
	}
	_, err = OpenDir(filepath.Join(made, "file"))
	refused(t, err, "not a directory")
	if _, err = OpenDir(filepath.Join(made, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
