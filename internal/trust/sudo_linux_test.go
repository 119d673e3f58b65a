//go:build system

package trust

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

// A file of the user who called sudo is that user's word, where no one else can write to it.
func TestFileOfTheCaller(t *testing.T) {
	testkit.Root(t)
	const caller = 12345
	dir := filepath.Join(t.TempDir(), "home")
	name := filepath.Join(dir, "my.toml")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(name, nil, 0o644), os.Chown(dir, caller, caller),
		os.Chown(name, caller, caller)} {
		testkit.OK(t, err)
	}
	check := func(what, sudo string, refused bool) {
		t.Helper()
		t.Setenv("SUDO_UID", sudo)
		f, foreign, err := ForRoot(name)
		if err != nil || (foreign != nil) != refused {
			t.Fatalf("%s: %v, %v", what, foreign, err)
		}
		f.Close()
	}
	check("without sudo", "", true)
	check("by its owner", "12345", false)
	check("by another", "12346", true)
	testkit.OK(t, os.Chmod(name, 0o666)) //nolint:gosec // that is what is refused
	check("written by all", "12345", true)
	testkit.OK(t, os.Chmod(name, 0o644)) //nolint:gosec // as most study files
	testkit.OK(t, os.Chmod(dir, 0o777))  //nolint:gosec // that is what is refused
	check("in a directory of all", "12345", true)
	for _, err := range []error{os.Chmod(dir, 0o755), os.Chown(filepath.Dir(dir), 54321, -1)} {
		testkit.OK(t, err)
	}
	check("in a directory that another user could replace", "12345", true)
	testkit.OK(t, os.Chown(filepath.Dir(dir), caller, -1))
	check("in directories of the caller", "12345", false)

	// What is checked is what is read, by whatever name it goes afterwards.
	testkit.OK(t, os.WriteFile(name, []byte("checked"), 0o644)) //nolint:gosec // as most study files
	f, foreign, err := ForRoot(name)
	if err != nil || foreign != nil {
		t.Fatal(foreign, err)
	}
	defer f.Close()
	testkit.OK(t, errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, []byte("swapped"), 0o600)))
	testkit.Is(t, "checked", string(testkit.Must(io.ReadAll(f))(t)))
}

// A secret of another user is none of root's, as neither is what that user may write into it
// next; that of the user who called sudo is.
func TestSecretOfAnotherUser(t *testing.T) {
	testkit.Root(t)
	path := filepath.Join(t.TempDir(), "pgpass")
	testkit.OK(t, errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chown(path, 54321, 54321)))
	f := testkit.Must(os.Open(path))(t)
	defer f.Close()
	t.Setenv("SUDO_UID", "")
	if _, ok := errors.AsType[*Refused](Secret(f)); !ok {
		t.Error("root takes a secret of another user")
	}
	testkit.OK(t, f.Chown(0, 0))
	if err := Secret(f); err != nil {
		t.Error(err)
	}
}
