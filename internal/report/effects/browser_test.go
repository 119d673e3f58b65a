//go:build system

package effects_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

func page(t *testing.T, s *effects.Set) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, effects.WriteHTML(&b, s))
	return b.String()
}

// TestInBrowser looks at samples in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	browser := pages.Start(t)
	for _, name := range []string{"gzip", "power", "compared", "splitplot", "query", "dialog", "degree", "smt-harm",
		"smt-empty", "empty", "hostile", "large"} {
		t.Run(name, func(t *testing.T) {
			b := pages.Open(t, browser, page(t, samples[name]()), "", 1200)
			if bad := pages.Eval[[]string](t, b, noTable); len(bad) > 0 {
				t.Errorf("pictures without a table: %q", bad)
			}
			pages.Inspect(t, b, "effects-"+name)
		})
	}
}

// noTable are the pictures whose figures stand in no table.
const noTable = `[...document.querySelectorAll("figure")].filter((f) => !f.querySelector("table") && !/table (above|below)/.test(f.textContent)).map((f) => f.querySelector("h3").textContent)`

// On paper the effects stand with their reasons, dark ink on white, within an A4 page.
func TestPrintInBrowser(t *testing.T) {
	b := pages.Open(t, pages.Start(t), page(t, samples["power"]()), "#theme=dark", 1280)
	pages.Send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	pages.Send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 718, Height: 1000, DeviceScaleFactor: 1})
	testkit.Is(t, "rgb(255, 255, 255)rgb(0, 0, 0)", pages.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`), "paper is")
	if wide := pages.Eval[int](t, b, `Math.max(...[...document.querySelectorAll("main *:not(.quiet)")].map((e) => Math.round(e.getBoundingClientRect().right)))`); wide > 718 {
		t.Errorf("the print is %d wide on 718", wide)
	}
	pages.Look(t, b, "effects-print")
	pdf := pages.Get(t, b, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	if dir := os.Getenv("HOSTLAB_SHOTS"); dir != "" {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "effects.pdf"), pdf, 0o644))
	}
}

// Sorting works by value, and the page's data is the JSON document.
func TestPageWorksInBrowser(t *testing.T) {
	s := samples["power"]()
	b := pages.Open(t, pages.Start(t), page(t, s), "", 1280)
	b.Run(t, chromedp.Click(chromedp.CSS("table.sortable thead th:nth-child(2) button")))
	sorted := pages.Eval[[]float64](t, b, `[...document.querySelector("table.sortable").tBodies[0].rows].map((r) => parseFloat(r.cells[1].dataset.sort))`)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] < sorted[i-1] {
			t.Errorf("not sorted: %v", sorted)
		}
	}
	data := pages.Eval[string](t, b, `document.getElementById("data").textContent`)
	var got, want any
	testkit.OK(t, json.Unmarshal([]byte(data), &got))
	testkit.OK(t, json.Unmarshal(written(t, s, effects.WriteJSON), &want))
	if !equal(got, want) {
		t.Error("the page's data is not the JSON document")
	}
}
