// Package hosttest gives tests machines to look at: recorded ones, unpacked
// from txtar archives, and made ones of sizes that nobody has at hand.
package hosttest

import (
	"testing"

	"hostlab/internal/host"
)

// Tree unpacks a machine's text, in the form that host.ExtractArchive describes,
// into a folder that goes with the test.
func Tree(t testing.TB, archive string) host.Tree {
	t.Helper()
	dir := t.TempDir()
	if err := host.ExtractArchive([]byte(archive), dir); err != nil {
		t.Fatal(err)
	}
	return host.Tree{Root: dir}
}
