package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// The machine that the test runs on, whatever it is, as whatever user.
func TestRecordThisMachine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	testkit.OK(t, os.WriteFile(file, []byte("rows\n"), 0o600))
	got := members(record(t, Tree{}, "here", []string{dir, file}))
	for _, name := range []string{"proc/cpuinfo", "proc/self/status", "proc/self/mountinfo"} {
		if got[name] == "" {
			t.Errorf("%s is not recorded", name)
		}
	}
	if s := got["proc/self/status"]; !strings.Contains(s, fmt.Sprintf("\nPid:\t%d\n", os.Getpid())) {
		t.Errorf("proc/self/status is not of this process:\n%s", s)
	}
	if s := got[strings.TrimPrefix(statxFile(dir), "/")]; !strings.Contains(s, "free=") || !strings.Contains(s, "readonly=0") {
		t.Errorf("attributes of a directory: %q", s)
	}
	if s := got[strings.TrimPrefix(statxFile(file), "/")]; !strings.Contains(s, "free=") {
		t.Errorf("attributes of a file: %q", s)
	}
	if s, ok := got[strings.TrimPrefix(file, "/")]; s != "" || !ok {
		t.Errorf("a file that was asked about must be there and empty, is %q (%v)", s, ok)
	}
}
