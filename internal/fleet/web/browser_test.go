//go:build system

package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hostlab/internal/report/reporttest/chrome"
)

// TestInBrowser looks at each screen in both themes, on a desk and on a phone. A request for anything elsewhere, a
// message of the console and a breach of the policy fail it.
func TestInBrowser(t *testing.T) {
	web := serving(t, Config{Exceptions: exceptions})
	browser := chrome.Start(t)
	for path := range screens {
		t.Run(strings.NewReplacer("/", "_", "?", "_", "&", "_").Replace(path), func(t *testing.T) {
			b := chrome.Visit(t, browser, web.URL, path, 1280)
			for _, theme := range []string{"light", "dark"} {
				chrome.Send(t, b, emulation.SetEmulatedMedia,
					emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
						Value: theme}}})
				for _, width := range []int64{1280, 360} {
					chrome.Resize(t, b, width)
					for what, check := range map[string]string{"sideways scrolling": chrome.Overflowing,
						"low contrast":            chrome.LowContrast,
						"ids that are not unique": `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`} {
						if bad := chrome.Eval[[]string](t, b, check); len(bad) > 0 {
							t.Errorf("%s, %d: %s:\n%s", theme, width, what, strings.Join(bad, "\n"))
						}
					}
					chrome.Accessible(t, b)
					name := strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "-").Replace(path)
					mean, _ := chrome.Brightness(t, chrome.Look(t, b, fmt.Sprintf("fleet%s-%s-%d", name, theme, width)))
					if (theme == "dark") != (mean < 0.4) {
						t.Errorf("%s, %d: mean brightness %.2f", theme, width, mean)
					}
				}
			}
		})
	}
}

// By keyboard alone a reader comes from the first page to a host, and gets there what the list promised.
func TestKeyboardInBrowser(t *testing.T) {
	web := serving(t, Config{})
	b := chrome.Visit(t, chrome.Start(t), web.URL, "/hosts?state=unknown", 1280)
	b.Run(t, chromedp.Focus(chromedp.CSS(`input[name="q"]`)), chromedp.KeyEvent("silent"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(`input[value="silent"]`)))
	if got := chrome.Eval[string](t, b, "location.search"); got != "?q=silent&state=unknown" {
		t.Fatalf("the form asks %q", got)
	}
	b.Run(t, chromedp.Focus(chromedp.CSS(`tbody a[href="/hosts/silent"]`)), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(".host li")))
	if got := chrome.Eval[string](t, b, `document.querySelector("h1").textContent`); got != "silent" {
		t.Errorf("Enter leads to %q", got)
	}
}
