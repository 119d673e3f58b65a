//go:build system

package predict_test

import (
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/predict"
	"hostlab/internal/report/reporttest/chrome"
)

// TestInBrowser looks at pages in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	all := ask(t, "sap", "sap-dialog", append(predict.DefaultPolicies(predict.Machine{}, false), "hwp"),
		[]float64{0.05, 0.9}, true)
	hostile := ask(t, "sap", "sap-extract", []string{"balanced-rs1,PERFCHECK=30ms"}, nil, false)
	hostile.Workload.Name, hostile.Machine.Name = strings.Repeat("<script>alert(1)</script>", 8),
		strings.Repeat("very-long-name", 20)
	hostile.Warnings = []string{"</script><img src=x onerror=alert(1)>"}
	browser := chrome.Start(t)
	for name, a := range map[string]*predict.Answer{"map": all, "hostile": hostile} {
		page := render(t, a)
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, theme, width), func(t *testing.T) {
					b := chrome.Open(t, browser, page, "#theme="+theme, width)
					for what, expression := range map[string]string{
						"sideways scrolling": chrome.Overflowing, "low contrast": chrome.LowContrast,
						"overlapping texts":                 chrome.Overlaps,
						"ids that are not unique":           `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`,
						"tables without a caption or scope": `[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`,
						"pictures of no size":               `[...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`,
					} {
						if bad := chrome.Eval[[]string](t, b, expression); len(bad) > 0 {
							t.Errorf("%s:\n%s", what, strings.Join(bad, "\n"))
						}
					}
					if width == 1280 {
						if bad := chrome.Eval[[]string](t, b, `[...document.querySelectorAll(".scroll")].filter((s) => s.scrollWidth > s.clientWidth + 1).map((s) => s.scrollWidth + " in " + s.clientWidth)`); len(bad) > 0 {
							t.Errorf("figures cut off: %s", strings.Join(bad, ", "))
						}
					} else if bad := chrome.Eval[[]string](t, b, `[...document.querySelectorAll("svg.pic")].filter((s) => [...s.querySelectorAll("text")].some((x) => x.getBoundingClientRect().height < 11) || !s.closest("[tabindex]")).map((s) => s.textContent.slice(0, 20))`); len(bad) > 0 {
						t.Errorf("pictures too small to read, or that keys cannot scroll: %s", strings.Join(bad, ", "))
					}
					mean, colours := chrome.Brightness(t, chrome.Look(t, b, fmt.Sprintf("predict-%s-%s-%d", name, theme, width)))
					if (theme == "dark") != (mean < 0.4) {
						t.Errorf("mean brightness %.2f in the %s theme", mean, theme)
					}
					if colours < 30 {
						t.Errorf("only %d colours: nothing drawn?", colours)
					}
				})
			}
		}
	}
}
