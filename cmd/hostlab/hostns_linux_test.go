package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestProcRootErrors: what is no /proc of the host is refused in one line that says what to do. Under go test this
// process may be on a host that shows it to be one, where nothing is to be done.
func TestProcRootErrors(t *testing.T) {
	for dir, says := range map[string]string{t.TempDir(): "is no /proc", "/no/such": "no such file"} {
		err := entering(dir)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", dir, err)
		}
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"version", "--proc-root", ""},
			streams{&bytes.Buffer{}, &out, &errs}); status != exitUsage {
			t.Errorf("an empty --proc-root: status %d, %s", status, errs.String())
		}
	}
}
