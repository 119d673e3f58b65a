//go:build system

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

// browser is one for all tests, since starting one takes seconds.
var browser chrome.Browser

func TestMain(m *testing.M) {
	status := m.Run()
	browser.Close() // os.Exit runs nothing deferred
	os.Exit(status)
}

func page(t *testing.T, s *effects.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := effects.WriteHTML(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInBrowser looks at samples in both themes, on a desk and on a phone. Those for
// hostile names and many runs differ in neither theme nor layout from the others and
// are looked at once.
func TestInBrowser(t *testing.T) {
	type look struct {
		theme string
		width int64
	}
	desk, all := []look{{"light", 1280}}, []look{{"light", 1280}, {"dark", 1280}, {"light", 390}, {"dark", 390}}
	once := []look{{"light", 1280}, {"dark", 390}}
	for _, c := range []struct {
		sample string
		looks  []look
	}{{"gzip", once}, {"power", all}, {"compared", once}, {"splitplot", once}, {"query", all}, {"dialog", once}, {"degree", desk}, {"smt-harm", all}, {"smt-none", once}, {"smt-noisy", once}, {"smt-untestable", all}, {"smt-empty", desk}, {"empty", once}, {"paused", once}, {"hostile", []look{{"light", 390}}}, {"large", desk}} {
		html := page(t, samples[c.sample]())
		t.Run(c.sample, func(t *testing.T) {
			b := chrome.Open(t, browser.Start(t), html, "", 1280)
			for _, l := range c.looks {
				where := fmt.Sprintf("%s, %d: ", l.theme, l.width)
				chrome.Resize(t, b, l.width)
				b.Run(t, chromedp.Evaluate[chromedp.Void](`new Promise((done) => { addEventListener("hashchange", done, { once: true }); location.hash = "#theme=`+l.theme+`"; })`, chromedp.EvalAwaitPromise))
				for what, check := range map[string]string{"sideways scrolling": chrome.Overflowing, "low contrast": chrome.LowContrast, "overlaps": chrome.Overlaps,
					"ids that are not unique":    `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`,
					"tables without names":       `[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`,
					"pictures of no size":        `[...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`,
					"pictures without a table":   `[...document.querySelectorAll("figure")].filter((f) => !f.querySelector("table") && !/table (above|below)/.test(f.textContent)).map((f) => f.querySelector("h3").textContent)`,
					"labels without their thing": `[...document.querySelectorAll("[aria-labelledby]")].filter((e) => e.getAttribute("aria-labelledby").split(" ").some((id) => !document.getElementById(id))).map((e) => e.outerHTML.slice(0, 60))`,
					"labels within the plot":     labelsInPlot,
				} {
					if bad := chrome.Eval[[]string](t, b, check); len(bad) > 0 {
						t.Errorf("%s%s:\n%s", where, what, strings.Join(bad, "\n"))
					}
				}
				mean, colours := chrome.Brightness(t, chrome.Look(t, b, fmt.Sprintf("effects-%s-%s-%d", c.sample, l.theme, l.width)))
				if (l.theme == "dark") != (mean < 0.4) {
					t.Errorf("%smean brightness %.2f", where, mean)
				}
				if colours < 20 {
					t.Errorf("%sonly %d colours: nothing drawn?", where, colours)
				}
			}
		})
	}
}

// labelsInPlot lists the names in pictures of bars that reach the bands behind the
// bars, in the font that the browser has.
const labelsInPlot = `[...document.querySelectorAll("svg")].filter((s) => /-(effects\d*|aa)-t /.test(s.getAttribute("aria-labelledby"))).flatMap((s) => {
  const left = Math.min(...[...s.querySelectorAll("path.grid, rect.floor")].map((e) => e.getBoundingClientRect().left));
  return [...s.querySelectorAll("text:not([text-anchor])")].filter((e) => e.getBoundingClientRect().right > left - 2).map((e) => e.textContent);
})`

// On paper the effects stand with their reasons, dark ink on white, within an A4 page.
func TestPrintInBrowser(t *testing.T) {
	b := chrome.Open(t, browser.Start(t), page(t, samples["power"]()), "#theme=dark", 1280)
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
	b := chrome.Open(t, browser.Start(t), page(t, s), "", 1280)
	b.Run(t, chromedp.Click(chromedp.CSS("table.sortable thead th:nth-child(2) button")))
	sorted := chrome.Eval[[]float64](t, b, `[...document.querySelector("table.sortable").tBodies[0].rows].map((r) => parseFloat(r.cells[1].dataset.sort))`)
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
