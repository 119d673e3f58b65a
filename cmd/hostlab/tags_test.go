package main

import (
	"go/build/constraint"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// tagsOfCI are all that CI sets, or what is true on its machines.
var tagsOfCI = []string{"system", "linux", "unix", "amd64"}

// TestNoTestIsLeftOut holds that CI runs every test: it sets the tag system, no file with
// tests takes another tag, and no test skips itself.
func TestNoTestIsLeftOut(t *testing.T) {
	if os.Getenv("CI") != "" && !testkit.Built {
		t.Error("the tests of the system are not built; use make test, or -tags=system")
	}
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "dl" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		code, _, _ := strings.Cut(string(text), "\npackage ")
		tests := strings.Contains(string(text), "\nfunc Test")
		for line := range strings.Lines(code) {
			if !constraint.IsGoBuild(line) {
				continue
			}
			expr, err := constraint.Parse(strings.TrimSpace(line))
			if err != nil {
				return err
			}
			// What a busy machine may decide otherwise has the tag bench, and bench/run.sh runs it.
			if tests && !expr.Eval(func(tag string) bool { return tag == "bench" || slices.Contains(tagsOfCI, tag) }) {
				t.Errorf("%s: CI does not build it: %s", path, strings.TrimSpace(line))
			}
		}
		for _, call := range []string{"Skip(", "Skipf(", "SkipNow("} {
			if strings.Contains(string(text), "t."+call) {
				t.Errorf("%s calls t.%s); a test that lacks something fails", path, call)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files with tests were found", files)
	}
}
