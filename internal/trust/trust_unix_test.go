//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
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
		testkit.OK(t, err)
	}
	root := testkit.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	for name, want := range map[string]string{"link": "symbolic link", "dangling": "symbolic link", "hard": "2 names",
		"fifo": "FIFO", ".": "directory"} {
		_, err := OpenFile(root, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		refused(t, err, want)
	}
	testkit.Is(t, "keep", string(testkit.Must(os.ReadFile(outside))(t)), "outside holds")
	testkit.Refused(os.Lstat(outside+"-none"))(t, "", "the target of a dangling link was made")
	f := testkit.Must(OpenFile(root, "plain", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600))(t)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("size %d after truncation, %v", info.Size(), err)
	}
}

func TestParents(t *testing.T) {
	real := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	made := filepath.Join(real, "a", "b")
	testkit.OK(t, os.MkdirAll(made, 0o755))
	testkit.Is(t, made, testkit.Must(Parents(made))(t))
	link := filepath.Join(real, "link")
	testkit.OK(t, os.Symlink("a", link))
	testkit.Is(t, made, testkit.Must(Parents(filepath.Join(link, "b")))(t), "by a link")
	testkit.OK(t, os.Symlink("loop", filepath.Join(real, "loop")))
	_, err := Parents(filepath.Join(real, "loop"))
	refused(t, err, "too many links")
	testkit.OK(t, os.Chmod(filepath.Join(real, "a"), 0o777))
	_, err = Parents(made)
	refused(t, err, "written to by everyone")
	testkit.OK(t, os.Chmod(filepath.Join(real, "a"), os.ModeSticky|0o777))
	if _, err := Parents(made); err != nil {
		t.Errorf("below a sticky directory: %v", err)
	}
	_, err = Parents(filepath.Join(real, "a"))
	refused(t, err, "written to by everyone")
	write(t, filepath.Join(real, "file"), "")
	_, err = Parents(filepath.Join(real, "file"))
	refused(t, err, "not a directory")
}

func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pass")
	write(t, path, "s3cr3t")
	for mode, want := range map[os.FileMode][2]bool{0o600: {true, true}, 0o400: {true, true},
		0o640: {false, os.Geteuid() == 0}, 0o660: {}, 0o604: {}, 0o644: {}, 0o601: {}} {
		testkit.OK(t, os.Chmod(path, mode))
		f := testkit.Must(OpenRegular(path))(t)
		for i, err := range []error{Secret(f), SecretKey(f)} {
			testkit.Is(t, want[i], (err == nil), "mode", mode, "key", i == 1, err)
			if err != nil {
				refused(t, err, path+" holds a secret")
			}
		}
		f.Close()
	}
	link := path + "-link"
	testkit.OK(t, os.Symlink(path, link))
	_, err := OpenRegular(link)
	refused(t, err, "symbolic link")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestOpenDir(t *testing.T) {
	real := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	made := filepath.Join(real, "a", "b")
	testkit.OK(t, os.MkdirAll(made, 0o755))
	write(t, filepath.Join(made, "file"), "here")
	root, err := OpenDir(made)
	testkit.OK(t, err)
	defer root.Close()
	if b, err := root.ReadFile("file"); err != nil || string(b) != "here" || root.Name() != made {
		t.Errorf("%q in %s, %v", b, root.Name(), err)
	}
	for link, to := range map[string]string{"absolute": made, "relative": "a", "magic": "/proc/self/cwd"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(real, link)))
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

func TestBelow(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	for name, to := range map[string]string{"inside": "a", "outside": t.TempDir(), "a/up": ".."} {
		testkit.OK(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	root := testkit.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	for _, name := range []string{"inside", "inside/b", "outside", "a/up/a"} {
		_, err := Below(root, name)
		refused(t, err, "symbolic link")
	}
	for _, name := range []string{".", "a", "a/b"} {
		got := testkit.Must(Below(root, name))(t)
		if err := got.Mkdir("made", 0o755); err != nil {
			t.Error(err)
		}
		got.Close()
		if _, err := os.Stat(filepath.Join(dir, name, "made")); err != nil {
			t.Error(err)
		}
	}
}

// Links of ours lead to what is written, also where that is still to be made; another
// user's do not, neither as the name nor on the way.
func TestPlace(t *testing.T) {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "to"), 0o755))
	for name, to := range map[string]string{"made": "to/new", "way": "to", "chain": filepath.Join(dir, "way", "x"),
		"planted": "to/victim", "detour": "to"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for _, name := range []string{"planted", "detour"} {
		testkit.OK(t, os.Lchown(filepath.Join(dir, name), 12345, 12345))
	}
	for name, want := range map[string]string{"plain": "plain", "made": "to/new", "way/y": "to/y", "chain": "to/x"} {
		root, base, err := Place(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := testkit.Must(root.Create(base))(t)
		f.Close()
		root.Close()
		if info, err := os.Lstat(filepath.Join(dir, want)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"planted", "detour/z"} {
		_, _, err := Place(filepath.Join(dir, name))
		refused(t, err, "belongs to uid 12345")
	}
}
