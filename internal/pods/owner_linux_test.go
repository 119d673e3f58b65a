package pods

import (
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// TestOwner: a tree that lacks the group does not say whose it is.
func TestOwner(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(with, "of/web"), filepath.Join(without, "of")} {
		testkit.OK(t, os.MkdirAll(dir, 0o755))
	}
	testkit.Is(t, -1, ownerIn([]proc.Hierarchy{{Mount: without}}, "/of/web"), "of a tree without the group")
	testkit.Is(t, os.Getuid(), ownerIn([]proc.Hierarchy{{Mount: without}, {Mount: with}}, "/of/web"))
}
