package oltp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestARunLeavesNoFileOpen: a removed file that is open takes room until the worker
// ends, and an open one cannot be removed on Windows.
func TestARunLeavesNoFileOpen(t *testing.T) {
	dir := t.TempDir()
	s := &server{}
	for range 2 {
		if _, err := s.answer(question{Dir: dir, Rows: 1000, Count: 100, Workers: 2, Reads: 0.5, Sync: "off"}); err != nil {
			t.Fatal(err)
		}
		fds, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(fds) == 0 {
			t.Fatalf("%d open files, %v", len(fds), err)
		}
		for _, fd := range fds {
			if file, err := os.Readlink(fd); err == nil && strings.HasPrefix(file, dir) {
				t.Errorf("%s is still open", file)
			}
		}
	}
}
