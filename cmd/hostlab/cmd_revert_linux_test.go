//go:build system

package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// That a journal's directory of another user has no changes says nothing to root.
func TestRevertInAnotherUsersDirectory(t *testing.T) {
	testkit.Root(t)
	dir := t.TempDir()
	var out bytes.Buffer
	try := func() error {
		o := revertOptions{printing: printing{format: "text"}}
		return o.putBack(t.Context(), streams{nil, &out, &out}, tree(t, t.TempDir()), dir, dir)
	}
	if err := try(); err != nil || !strings.Contains(out.String(), "Nothing to put back") {
		t.Errorf("root's own: %v, %q", err, out.String())
	}
	testkit.OK(t, os.Chown(dir, 12345, 12345))
	err := try()
	if _, usage := errors.AsType[usageError](err); !usage ||
		!strings.Contains(err.Error(), dir+" belongs to uid 12345, who could replace") {
		t.Errorf("another's: %v", err)
	}
}
