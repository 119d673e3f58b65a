package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSameDevice(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	got := SameDevice([]string{"disk", "memory", "again", "gone"}, map[string]string{"disk": dir, "memory": "/proc", "again": sub, "gone": "/nowhere"})
	if len(got) != 1 || !strings.Contains(got[0], "levels disk and again lie on the same device") {
		t.Errorf("%q", got)
	}
}
