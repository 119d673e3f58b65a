package proc

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// TestShed: pages of the program are given up, and it goes on, also where it was relocated as it was loaded (cgo, PIE).
func TestShed(t *testing.T) {
	ofFiles := func() (size int) {
		status := string(testkit.Must(os.ReadFile("/proc/self/status"))(t))
		for _, name := range []string{"RssFile", "RssShmem"} { // the test may lie in memory
			text, _ := field(status, name)
			size += testkit.Must(strconv.Atoi(strings.TrimSuffix(text, " kB")))(t)
		}
		return size
	}
	before := ofFiles()
	Shed()
	if after := ofFiles(); after >= before {
		t.Errorf("%d kB of files before, %d after", before, after)
	}
}
