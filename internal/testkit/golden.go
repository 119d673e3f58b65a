package testkit

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that tests compare with, where they differ")

// Update reports whether the tests are to write their files.
func Update() bool { return *update }

// Equal requires that got is what the file holds, or writes it with -update.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	Write(t, file, got)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run the test with -update (-file +now):\n%s", file, diff)
	}
}

// Write writes the file with -update, and does nothing without.
func Write(t testing.TB, file, got string) {
	t.Helper()
	if !*update {
		return
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // the tree is for everyone
		t.Fatal(err)
	}
}
