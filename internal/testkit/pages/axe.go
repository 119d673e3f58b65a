//go:build system

package pages

import (
	"archive/tar"
	packed "compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"hostlab/internal/testkit"
)

// axe is the rules of axe-core, which scripts/test-deps.sh brings, pinned, from npm.
var axe = sync.OnceValues(func() (string, error) {
	files, err := filepath.Glob(filepath.Join(testkit.Module(), "testbed/dl/axe-core-*.tgz"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%d packages of axe-core in testbed/dl, want 1: run make test-deps", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := packed.NewReader(f)
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("axe-core: %w", err)
		}
		if h.Name == "package/axe.min.js" {
			text, err := io.ReadAll(r)
			return string(text), err
		}
	}
})

// Accessible fails the test for what axe-core finds on the page shown: by all its rules, best practices too, or by
// those named.
func Accessible(t *testing.T, b *Tab, only ...string) {
	t.Helper()
	rules, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	if !Eval[bool](t, b, `typeof axe === "object"`) {
		b.Run(t, chromedp.Evaluate[chromedp.Void](rules+"; void 0"))
	}
	options := "{}"
	if len(only) > 0 {
		options = `{runOnly: ["` + strings.Join(only, `", "`) + `"]}`
	}
	run := "axe.run(document, " + options +
		`).then((r) => r.violations.map((v) => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")))`
	bad := Get(t, b, chromedp.Evaluate[[]string](run, chromedp.EvalAwaitPromise))
	if len(bad) > 0 {
		t.Errorf("axe-core:\n%s", strings.Join(bad, "\n"))
	}
}
