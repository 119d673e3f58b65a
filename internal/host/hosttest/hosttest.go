// Package hosttest gives tests machines to look at: recorded ones, unpacked
// from txtar archives, and made ones of sizes that nobody has at hand.
package hosttest

import (
	"os"
	"testing"

	"hostlab/internal/host"
)

// Extract unpacks a recorded machine, the path of a txtar file in the form that
// host.ExtractArchive describes, into a folder that goes with the test.
func Extract(t testing.TB, archive string) host.Tree {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	return Tree(t, string(data))
}

// Tree is Extract for an archive's text.
func Tree(t testing.TB, archive string) host.Tree {
	t.Helper()
	dir := t.TempDir()
	if err := host.ExtractArchive([]byte(archive), dir); err != nil {
		t.Fatal(err)
	}
	return host.Tree{Root: dir}
}
