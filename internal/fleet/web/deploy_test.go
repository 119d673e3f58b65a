//go:build system

package web

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hostlab/internal/testkit"
	show "hostlab/internal/testkit/pages"
)

// deploy is where the files for Prometheus and Grafana are.
const deploy = "../../../deploy/"

// promtool runs Prometheus' own checks; make test installs it.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir, cmd.Stdin = deploy+"prometheus", strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// What is deployed asks for metrics that serve has, and for all of them.
func TestDeploy(t *testing.T) {
	_, metrics := get(t, serving(t, Config{}).URL+"/metrics")
	promtool(t, metrics, "check", "metrics")
	promtool(t, "", "check", "rules", "alerts.yaml")
	promtool(t, "", "test", "rules", "alerts_test.yaml")
	promtool(t, "", "check", "config", "--syntax-only", "scrape.yaml")
	asked := map[string]bool{}
	for _, file := range []string{"prometheus/alerts.yaml", "grafana/fleet.json"} {
		text := testkit.Must(os.ReadFile(deploy + file))(t)
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		for _, name := range regexp.MustCompile(`hostlab_(host|fleet)_[a-z_]+`).FindAllString(string(text), -1) {
			asked[name] = true
			if !strings.Contains(metrics, "# TYPE "+name+" ") {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+)`).FindAllStringSubmatch(metrics, -1) {
		if !asked[m[1]] && m[1] != "hostlab_fleet_documents" {
			t.Errorf("nothing shows %s", m[1])
		}
	}
}

// TestInBrowser looks at each screen in both themes, on a desk and on a phone. A request for anything elsewhere, a
// message of the console and a breach of the policy fail it.
func TestInBrowser(t *testing.T) {
	web := serving(t, Config{Exceptions: exceptions})
	browser := show.Start(t)
	for path := range screens {
		name := strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "-").Replace(path)
		t.Run(name, func(t *testing.T) { show.Inspect(t, show.Visit(t, browser, web.URL, path, 1200), "fleet"+name) })
	}
}

// By keyboard alone a reader comes from the first page to a host, and gets there what the list promised.
func TestKeyboardInBrowser(t *testing.T) {
	web := serving(t, Config{})
	b := show.Visit(t, show.Start(t), web.URL, "/hosts?state=unknown", 1280)
	b.Run(t, chromedp.Focus(chromedp.CSS(`input[name="q"]`)), chromedp.KeyEvent("silent"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(`input[value="silent"]`)))
	if got := show.Eval[string](t, b, "location.search"); got != "?q=silent&state=unknown" {
		t.Fatalf("the form asks %q", got)
	}
	b.Run(t, chromedp.Focus(chromedp.CSS(`tbody a[href="/hosts/silent"]`)), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(".host li")))
	if got := show.Eval[string](t, b, `document.querySelector("h1").firstChild.textContent.trim()`); !strings.HasSuffix(got,
		"silent") {
		t.Errorf("Enter leads to %q", got)
	}
}
