//go:build system

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	show "hostlab/internal/testkit/pages"
)

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
