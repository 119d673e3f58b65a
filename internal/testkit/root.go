// Package testkit has what tests have in common: files that say what they expect, and what those with the build tag
// system need. Such a test takes root, a server, a browser, a guest or many seconds: make test runs it, make check does
// not.
package testkit

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Root fails a test that another user than root runs: it must not pass unseen.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
}

// Eve is the number of another user, whom no account has.
const Eve = 54321

// EvesDir makes a directory that she may rename in, and that she can reach.
func EvesDir(t testing.TB) string {
	t.Helper()
	Root(t)
	dir := t.TempDir()
	for _, err := range []error{os.Chown(dir, Eve, Eve), os.Chmod(filepath.Dir(dir), 0o755)} { //nolint:gosec // she has to get there
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Start starts a process that is killed with the test.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// Victim starts a process in a directory that nothing of hostlab has to do with, and fails
// the test unless it lives to its end.
func Victim(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command("sleep", "300")
	cmd.Dir = dir
	Start(t, cmd)
	ended := make(chan struct{})
	go func() { _, _ = cmd.Process.Wait(); close(ended) }()
	t.Cleanup(func() {
		select {
		case <-ended:
			t.Error("another's process was killed")
		case <-time.After(20 * time.Millisecond): // a signal on its way
		}
	})
	return dir
}

// End is until when a test waits for an event. It lies just before the end of go test's own time, so that a busy
// machine fails no test, and one that waits in vain says for what.
func End(t testing.TB) time.Time {
	if at, limited := t.(interface{ Deadline() (time.Time, bool) }).Deadline(); limited {
		return at.Add(-15 * time.Second)
	}
	return time.Now().Add(time.Hour)
}

// Sample is the whole list where the tests with the tag system are built, and n of it elsewhere, from its first to its
// last: make check takes a minute, and what it leaves out make test has.
func Sample[T any](list []T, n int) []T {
	if Built || len(list) <= n {
		return list
	}
	few := make([]T, n)
	for i := range few {
		few[i] = list[i*(len(list)-1)/(n-1)]
	}
	return few
}

// Times is how often a test repeats what chance is part of: all where the tests with the tag system are built, few
// elsewhere.
func Times(all, few int) int {
	if Built {
		return all
	}
	return few
}

// Check has rapid.Check, which the test imports, try a property: 100 cases where the tests with the tag system are built,
// and 20 elsewhere. The flag -rapid.checks overrides both. Without rapid, other tests' binaries are linked sooner.
func Check[T, P any](t *testing.T, check func(T, P), property P) {
	t.Helper()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(Times(100, 20)))
	}
	check(any(t).(T), property)
}

// fataller is a test, a benchmark or a property of rapid.
type fataller interface {
	Helper()
	Fatal(args ...any)
}

// OK ends a test for an error.
func OK(t fataller, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Must is a call's value for a test that ends for its error: text := testkit.Must(os.ReadFile(name))(t).
func Must[T any](v T, err error) func(fataller) T {
	return func(t fataller) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// began is the directory of the package whose tests run; some of them go elsewhere.
var began, _ = os.Getwd()

// Module is the directory of the module whose tests run.
func Module() string {
	root := began
	for ; root != "/"; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
	}
	return root
}
