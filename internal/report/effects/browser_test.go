package effects_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"hostlab/internal/report/effects"
	"hostlab/internal/report/reporttest/chrome"
)

func page(t *testing.T, s *effects.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := effects.WriteHTML(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInBrowser looks at each sample in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	browser := chrome.Start(t)
	for _, name := range []string{"gzip", "power", "splitplot", "void", "hostile", "empty", "large", "compared"} {
		html := page(t, samples[name]())
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, theme, width), func(t *testing.T) {
					b := chrome.Open(t, browser, html, "#theme="+theme, width)
					for what, check := range map[string]string{"sideways scrolling": chrome.Overflowing, "low contrast": chrome.LowContrast, "overlaps": chrome.Overlaps,
						"ids that are not unique":    `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`,
						"tables without names":       `[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`,
						"pictures of no size":        `[...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`,
						"pictures without a table":   `[...document.querySelectorAll("figure")].filter((f) => !f.querySelector("table") && !/table above/.test(f.textContent)).map((f) => f.querySelector("h3").textContent)`,
						"labels without their thing": `[...document.querySelectorAll("[aria-labelledby]")].filter((e) => e.getAttribute("aria-labelledby").split(" ").some((id) => !document.getElementById(id))).map((e) => e.outerHTML.slice(0, 60))`,
					} {
						if bad := chrome.Eval[[]string](t, b, check); len(bad) > 0 {
							t.Errorf("%s:\n%s", what, strings.Join(bad, "\n"))
						}
					}
					mean, colours := chrome.Brightness(t, chrome.Look(t, b, fmt.Sprintf("effects-%s-%s-%d", name, theme, width)))
					if (theme == "dark") != (mean < 0.4) {
						t.Errorf("mean brightness %.2f in the %s theme", mean, theme)
					}
					if colours < 20 {
						t.Errorf("only %d colours: nothing drawn?", colours)
					}
				})
			}
		}
	}
}

// On paper the effects stand with their reasons, dark ink on white, within an A4 page.
func TestPrintInBrowser(t *testing.T) {
	b := chrome.Open(t, chrome.Start(t), page(t, samples["power"]()), "#theme=dark", 1280)
	chrome.Send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	chrome.Send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 718, Height: 1000, DeviceScaleFactor: 1})
	if got := chrome.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`); got != "rgb(255, 255, 255)rgb(0, 0, 0)" {
		t.Errorf("paper is %s", got)
	}
	if wide := chrome.Eval[int](t, b, `Math.max(...[...document.querySelectorAll("main *:not(.quiet)")].map((e) => Math.round(e.getBoundingClientRect().right)))`); wide > 718 {
		t.Errorf("the print is %d wide on 718", wide)
	}
	chrome.Look(t, b, "effects-print")
	pdf := chrome.Get(t, b, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	if dir := os.Getenv("HOSTLAB_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "effects.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Sorting works by value, and the page's data is the JSON document.
func TestPageWorksInBrowser(t *testing.T) {
	s := samples["power"]()
	b := chrome.Open(t, chrome.Start(t), page(t, s), "", 1280)
	b.Run(t, chromedp.Click(chromedp.CSS("table.effects thead th:nth-child(3) button")))
	sorted := chrome.Eval[[]float64](t, b, `[...document.querySelector("table.effects").tBodies[0].rows].map((r) => parseFloat(r.cells[2].dataset.sort))`)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] < sorted[i-1] {
			t.Errorf("not sorted: %v", sorted)
		}
	}
	data := chrome.Eval[string](t, b, `document.getElementById("data").textContent`)
	var got, want any
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written(t, s, effects.WriteJSON), &want); err != nil {
		t.Fatal(err)
	}
	if !equal(got, want) {
		t.Error("the page's data is not the JSON document")
	}
}
