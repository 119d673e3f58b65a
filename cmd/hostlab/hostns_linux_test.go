package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// TestProcRootHeld: what is read is of the directory that was opened, wherever its name leads later.
func TestProcRootHeld(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "proc")
	p := hostProc{}
	testkit.OK(t, errors.Join(os.Symlink("/proc", link), func() (err error) { p, err = openProc(link); return err }(),
		os.Remove(link), os.Mkdir(link, 0o755), os.Symlink("7", filepath.Join(link, "self"))))
	defer unix.Close(p.fd)
	testkit.Is(t, strconv.Itoa(os.Getpid()), testkit.Must(os.Readlink(p.path("self")))(t), "process")
}

// TestMountedHere: a mount that this namespace does not have may be another user's.
func TestMountedHere(t *testing.T) {
	own := testkit.Must(os.Open("/proc"))(t)
	defer own.Close()
	r, w, err := os.Pipe() // of a mount that no namespace has
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if !mountedHere(int(own.Fd())) || mountedHere(int(r.Fd())) || mountedHere(-1) {
		t.Errorf("/proc %v, a pipe %v", mountedHere(int(own.Fd())), mountedHere(int(r.Fd())))
	}
}

// TestExecute: the program is the one that was opened, whatever its path leads to later.
func TestExecute(t *testing.T) {
	if os.Getenv("HOSTLAB_TEST_EXECUTE") != "" {
		fd, err := unix.Open("/bin/echo", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			err = execute(fd, []string{"echo", "it", "runs"}, []string{"A=1"})
		}
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExecute$")
	cmd.Env = append(os.Environ(), "HOSTLAB_TEST_EXECUTE=1")
	testkit.Is(t, "it runs\n", string(testkit.Must(cmd.CombinedOutput())(t)))
	if err := execute(-1, []string{"x"}, nil); err == nil || !errors.Is(err, unix.EBADF) {
		t.Errorf("of no descriptor: %v", err)
	}
}

// TestProcRootErrors: what is no /proc of the host is refused in one line that says what to do. Under go test this
// process may be on a host that shows it to be one, where nothing is to be done.
func TestProcRootErrors(t *testing.T) {
	for dir, says := range map[string]string{t.TempDir(): "is no /proc", "/no/such": "no such file"} {
		err := entering(dir)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", dir, err)
		}
		var out, errs bytes.Buffer
		testkit.Is(t, exitUsage, run(t.Context(), []string{"version", "--proc-root", ""},
			streams{&bytes.Buffer{}, &out, &errs}), "an empty --proc-root: status", errs.String())
	}
}
