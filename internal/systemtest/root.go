// Package systemtest has what tests with the build tag system have in common. Such a test
// takes root, a server, a browser, a guest or many seconds: make test runs it, make check
// does not.
package systemtest

import (
	"os"
	"testing"
)

// Root fails a test that another user than root runs: it must not pass unseen.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
}
