package connect

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// What is no file is refused wherever a name, the environment or the home directory names it: nothing waits for its
// writer.
func TestNoFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	fifo := filepath.Join(home, "fifo")
	testkit.OK(t, syscall.Mkfifo(fifo, 0o600))
	refuses := func(what, text string) {
		t.Helper()
		_, err := readSettings(text)
		testkit.Fails(t, err, "is a FIFO, not a regular file", what)
	}
	for _, name := range []string{"sslkey", "sslcert", "sslrootcert", "passfile"} {
		refuses(name, "postgres://h/db?"+name+"="+fifo)
		t.Setenv("PG"+strings.ToUpper(name), fifo)
		refuses("the environment's "+name, "postgres://h/db")
		t.Setenv("PG"+strings.ToUpper(name), "")
	}
	testkit.OK(t, os.Mkdir(filepath.Join(home, ".postgresql"), 0o700))
	for _, name := range []string{"postgresql.key", "postgresql.crt", "root.crt"} {
		at := filepath.Join(home, ".postgresql", name)
		testkit.OK(t, os.Symlink(fifo, at))
		refuses(name, "postgres://h/db")
		testkit.OK(t, os.Remove(at))
	}
}
