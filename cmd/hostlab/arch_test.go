package main

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// layers holds the folders from top to bottom. A package may import those of its own line
// and of the lines below; the longest folder that holds a package decides its line.
// ARCHITECTURE.md says what each layer is for.
var layers = [][]string{
	{"cmd"},
	{"internal/fleet"},
	{"internal/report", "internal/predict", "internal/watch/live", "internal/settings", "internal/assess"},
	{"internal/experiment/runner", "internal/lever"},
	{"internal/probe", "internal/check", "internal/analysis"},
	{"internal/experiment"},
	{"internal/workload", "internal/cpus", "internal/service", "internal/serve"},
	{"internal/explain", "internal/setting", "internal/watch", "internal/emulate", "internal/delayfs", "internal/model", "internal/trace", "internal/chain", "internal/waits"},
	{"internal/host", "internal/lockfile", "internal/ring", "internal/privatedb", "internal/result", "internal/stats", "internal/picture", "internal/document"},
	{"internal/hot", "internal/thread", "internal/worker"},
	{"internal/screen", "internal/trust", "internal/proc", "internal/pods", "internal/clouds", "internal/counters", "internal/lazyre", "studies", "."},
}

// pure lists all that package experiment may use: what else a study names is given to it.
var pure = []string{"internal/result", "internal/lazyre", "internal/screen", "internal/stats", "internal/trust", "internal/workload", "studies"}

// layer returns the line of a package, -1 for none, and the folder that decided it.
func layer(pkg string) (line int, folder string) {
	line = -1
	for i, folders := range layers {
		for _, f := range folders {
			if (pkg == f || strings.HasPrefix(pkg, f+"/")) && len(f) > len(folder) {
				line, folder = i, f
			}
		}
	}
	return line, folder
}

// free lists folders that no shipped package may use: test support and benchmarks.
var free = []string{"internal/workload/workloadtest", "internal/testkit", "bench", "testbed"}

func TestImportsPointDown(t *testing.T) {
	const root = "../.."
	used := map[string]bool{}
	testkit.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if slices.ContainsFunc(free, func(f string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") }) {
			return nil
		}
		line, folder := layer(pkg)
		if line < 0 {
			t.Errorf("%s is in no layer; add its folder to layers", pkg)
			return nil
		}
		used[folder] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if ours, ok := strings.CutPrefix(name, "hostlab/"); ok {
				if below, _ := layer(ours); below < line {
					t.Errorf("%s imports %s, which stands above it", path, ours)
				}
				if pkg == "internal/experiment" && !slices.Contains(pure, ours) {
					t.Errorf("%s imports %s, which it is to be given", path, ours)
				}
			}
		}
		return nil
	}))
	page := testkit.Must(os.ReadFile(root + "/ARCHITECTURE.md"))(t)
	for _, folders := range layers {
		for _, f := range folders {
			if name := "`" + strings.TrimPrefix(f, "internal/") + "`"; f != "." && !strings.Contains(string(page), name) {
				t.Errorf("the layers of ARCHITECTURE.md lack %s", name)
			}
			if !used[f] {
				t.Errorf("%s is in the layers and has no code", f)
			}
		}
	}
}

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
	testkit.OK(t, err)
	if files < 100 {
		t.Errorf("only %d files with tests were found", files)
	}
}
