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
	if got := ownerIn([]proc.Hierarchy{{Mount: without}}, "/of/web"); got != -1 {
		t.Errorf("%d of a tree without the group", got)
	}
	if got := ownerIn([]proc.Hierarchy{{Mount: without}, {Mount: with}}, "/of/web"); got != os.Getuid() {
		t.Errorf("%d, want %d", got, os.Getuid())
	}
}
