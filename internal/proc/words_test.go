package proc

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hostlab/internal/testkit"
)

// TestWords: what a process says of itself may have any length; no more is read than a program has.
func TestWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environ")
	testkit.OK(t, os.WriteFile(file, []byte("A=1\x00B=2\x00"), 0o600))
	if got, err := words(file, 8); err != nil || !slices.Equal(got, []string{"A=1", "B=2", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := words(file, 7); err == nil {
		t.Errorf("%q of more than is read", got)
	}
	testkit.OK(t, os.Truncate(file, 64<<30))
	if got, err := words(file, mostGiven); err == nil {
		t.Errorf("%d words of 64 GiB", len(got))
	}
	if got, err := words(file+"x", mostSaid); err == nil {
		t.Errorf("%q of no file", got)
	}
}
