package hostlab

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// licenses are the names of files that have to go with a binary.
var licenses = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-.].*)?$`)

// linked are packages and their modules, as go list names them.
type linked struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// TestNotice holds NOTICE against all that go.mod has linked into the binary, with all
// drivers: a dependency that is new or of another version needs
// go test . -run Notice -update.
func TestNotice(t *testing.T) {
	modules := map[string]map[string]bool{} // name and version: files
	for _, platform := range []string{"linux/amd64", "linux/arm64", "windows/amd64"} {
		system, machine, _ := strings.Cut(platform, "/")
		c := exec.Command("go", "list", "-deps", "-tags", "oracle,sqlserver", "-json=Dir,Module", "./cmd/hostlab")
		c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0")
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p linked
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			name := p.Module.Path + " " + p.Module.Version
			if r := p.Module.Replace; r != nil {
				name += " => " + r.Path + " " + r.Version
			}
			if modules[name] == nil {
				modules[name] = map[string]bool{}
			}
			// A package from elsewhere may have a license of its own, in its folder or above.
			for dir := p.Dir; ; dir = filepath.Dir(dir) {
				for _, file := range in(t, dir) {
					modules[name][file] = true
				}
				if dir == p.Module.Dir || len(dir) < len(p.Module.Dir) {
					break
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "hostlab contains the Go standard library and these modules, each under its own license:\n\n")
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(&b, "    %s\n", name)
	}
	section := func(title, file string) {
		text := testkit.Must(os.ReadFile(file))(t)
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), title, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	root := testkit.Must(exec.Command("go", "env", "GOROOT").Output())(t)
	section("The Go standard library", filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if len(modules[name]) == 0 {
			t.Errorf("%s has no license", name)
		}
		for _, file := range slices.Sorted(maps.Keys(modules[name])) {
			section(name+": "+filepath.Base(file), file)
		}
	}
	testkit.Write(t, "NOTICE", b.String())
	if testkit.Update() {
		var z bytes.Buffer
		w := testkit.Must(gzip.NewWriterLevel(&z, gzip.BestCompression))(t)
		testkit.Must(io.WriteString(w, b.String()))(t)
		testkit.OK(t, errors.Join(w.Close(), os.WriteFile("NOTICE.gz", z.Bytes(), 0o644))) //nolint:gosec // everybody may read it
		return
	}
	if got, err := Notice(); err != nil || got != b.String() { // the binary has it from its build
		t.Errorf("NOTICE is not of the modules in go.mod (%v): go test . -run Notice -update", err)
	}
}

// in are the license files of a folder.
func in(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		if e.Type().IsRegular() && licenses.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}
