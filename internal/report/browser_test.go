//go:build system

package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// open renders an assessment and shows it.
func open(t *testing.T, browser context.Context, a *report.Assessment, fragment string, width int64) *pages.Tab {
	t.Helper()
	return pages.Open(t, browser, render(t, a), fragment, width)
}

// TestInBrowser looks at each sample in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	browser := pages.Start(t)
	for _, name := range []string{"guest", "service", "big", "hostile", "empty"} {
		t.Run(name, func(t *testing.T) { pages.Inspect(t, open(t, browser, samples[name](), "", 1200), name) })
	}
}

// table finds a section's table by the section's title.
const table = `[...document.querySelectorAll("main > section")].find((s) => s.querySelector("h2").textContent === "%s").querySelector("table")`

// rowsOf lists the names of the levers, without what stands below them.
const rowsOf = `[...%s.tBodies[0].rows].map((r) => r.cells[0].firstChild.textContent.trim().replace(/\s/g, " "))`

func TestSortingInBrowser(t *testing.T) {
	b := open(t, pages.Start(t), Guest(), "", 1280)
	levers := func() []string { return pages.Eval[[]string](t, b, fmt.Sprintf(rowsOf, fmt.Sprintf(table, "Levers"))) }
	most := fmt.Sprintf(table, "Levers") + `.querySelector("thead th:nth-child(2)")`
	const button = "main > section:nth-of-type(2) table thead th:nth-child(2) button"
	sorted := func() string { return pages.Eval[string](t, b, most+`.getAttribute("aria-sort") || ""`) }
	before := levers()
	if s := sorted(); s != "" {
		t.Fatalf("sorted %s at first", s)
	}
	b.Run(t, chromedp.Click(chromedp.CSS(button)))
	up := levers()
	testkit.Is(t, "ascending", sorted(), "aria-sort", "after a click")
	// the others stay last
	known := pages.Eval[int](t, b, fmt.Sprintf(table, "Levers")+`.querySelectorAll("td:nth-child(2)[data-sort]").length`)
	testkit.Is(t, "log device", up[known-1], "the largest bound belongs to", "want log device")
	if cmp.Equal(before, up) {
		t.Error("a click did not sort")
	}
	// By keyboard: focus the heading's button and press Enter.
	b.Run(t, chromedp.Focus(chromedp.CSS(button)), chromedp.KeyEvent(kb.Enter))
	testkit.Is(t, "descending", sorted(), "aria-sort", "after Enter")
	testkit.Is(t, "log device", levers()[0], "descending starts with", "want log device")
	testkit.Has(t, pages.Eval[string](t, b, `document.getElementById("status").textContent`), "descending", "a screen reader hears")
	// Every sortable heading can be reached and named.
	testkit.Is(t, 0, pages.Eval[int](t, b, `[...document.querySelectorAll("table.sortable thead button")].filter((x) => x.tabIndex !== 0 || !x.textContent.trim()).length`))
	// Text sorts with its numbers: 10 ms before 100 ms.
	pages.Eval[bool](t, b, fmt.Sprintf(table, "Wake-up penalty")+`.querySelector("thead th:nth-child(1) button").click() || true`)
	first := pages.Eval[[]string](t, b, fmt.Sprintf(rowsOf, fmt.Sprintf(table,
		"Wake-up penalty"))+`.filter((s) => /^\d+ ms of/.test(s))`)
	if !strings.HasPrefix(first[0], "10 ms") || !strings.HasPrefix(first[len(first)-1], "100 ms") {
		t.Errorf("sorted by text: %q ... %q", first[0], first[len(first)-1])
	}
	// By value, not by text: 72 ns before 1.01x. An unknown one stays last in both
	// directions.
	for _, first := range []string{result.Format(72e-9, "s"), "1.01x"} {
		pages.Eval[bool](t, b, fmt.Sprintf(table, "Siblings")+`.querySelector("thead th:nth-child(2) button").click() || true`)
		values := pages.Eval[[]string](t, b, `[...`+fmt.Sprintf(table,
			"Siblings")+`.tBodies[0].rows].map((r) => r.cells[1].textContent.trim().replace(/\s/g, " "))`)
		if len(values) < 3 || !strings.Contains(values[0], first) || !strings.Contains(values[len(values)-1], "unknown") {
			t.Errorf("want %s first and an unknown value last: %q", first, values)
		}
	}
}

func TestThemeInBrowser(t *testing.T) {
	b := open(t, pages.Start(t), Guest(), "", 1280)
	ground := func() string { return pages.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor`) }
	prefer := func(v string) {
		pages.Send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v}}})
	}
	prefer("light")
	light := ground()
	prefer("dark")
	dark := ground()
	if light == dark {
		t.Error("the page ignores the system's theme")
	}
	b.Run(t, chromedp.Click(chromedp.CSS("#theme")))
	testkit.Is(t, light, ground(), "the button gives", "want the light ground")
	if kept := pages.Eval[int](t, b, `(() => { try { return localStorage.length + sessionStorage.length + document.cookie.length; } catch { return 0; } })()`); kept != 0 {
		t.Error("the page stores something")
	}
	b.Run(t, chromedp.Evaluate[chromedp.Void](`new Promise((done) => { addEventListener("hashchange", done, { once: true }); location.hash = "#theme=dark"; })`, chromedp.EvalAwaitPromise))
	testkit.Is(t, dark, ground(), "the fragment gives", "want the dark ground")
}

// The download is the document that --format json writes, facts of a large host unpacked.
func TestDownloadInBrowser(t *testing.T) {
	a := Big()
	b := open(t, pages.Start(t), a, "", 1280)
	dir := t.TempDir()
	done := make(chan struct{}, 8)
	testkit.OK(t, chromedp.ListenBrowser(b.Ctx, func(ev any) {
		if p, ok := ev.(*browser.EventDownloadProgress); ok && p.State == browser.DownloadProgressStateCompleted {
			done <- struct{}{}
		}
	}))
	testkit.Must(chromedp.CallBrowser(b.Ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: new(true)}))(t)
	b.Run(t, chromedp.Click(chromedp.CSS("#download")))
	select {
	case <-done:
	case <-time.After(time.Until(testkit.End(t))):
		t.Fatal("no download")
	}
	saved := testkit.Must(os.ReadFile(filepath.Join(dir, "hostlab-report.json")))(t)
	if !json.Valid(saved) {
		t.Fatal("the download is not JSON")
	}
	testkit.Same(t, object(t, writeJSON(t, a)), object(t, saved))
}

// On paper the levers and findings stand with their reasons, dark ink on white.
func TestPrintInBrowser(t *testing.T) {
	b := open(t, pages.Start(t), Guest(), "#theme=dark", 1280)
	pages.Send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	testkit.Is(t, "rgb(255, 255, 255)rgb(0, 0, 0)", pages.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`), "paper is")
	// A4 less 1 cm on each side is 718 CSS pixels; paper does not scroll.
	pages.Send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 718,
		Height: 1000, DeviceScaleFactor: 1})
	b.Run(t, chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("beforeprint"))`))
	if wide := pages.Eval[int](t, b, `Math.max(...[...document.querySelectorAll("main *:not(.quiet)")].map((e) => e.getBoundingClientRect().right))`); wide > 718 {
		t.Errorf("the print is %d wide on 718", wide)
	}
	if shut := pages.Eval[int](t, b, `document.querySelectorAll("td details:not([open])").length`); shut > 0 {
		t.Errorf("%d reasons are shut on paper", shut)
	}
	pages.Look(t, b, "guest-print")
	pdf := pages.Get(t, b, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	if dir := os.Getenv("HOSTLAB_SHOTS"); dir != "" {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "guest.pdf"), pdf, 0o644))
	}
}

// A click on a command's button copies it: also where a page has no clipboard, as one of a server without TLS.
func TestCopyInBrowser(t *testing.T) {
	b := open(t, pages.Start(t), samples["service"](), "", 1200)
	for _, may := range []string{"clipboard-read", "clipboard-write"} {
		testkit.Must(chromedp.CallBrowser(b.Ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: may}, Setting: browser.PermissionSettingGranted}))(t)
	}
	want := pages.Eval[string](t, b, `document.querySelector(".typed code").textContent`)
	if !strings.HasPrefix(want, "hostlab ") {
		t.Fatalf("the first command is %q", want)
	}
	said := func() string {
		b.Run(t, chromedp.Click(chromedp.CSS(".typed .copy")), chromedp.WaitReady(chromedp.CSS(`#status:not(:empty)`)))
		return pages.Eval[string](t, b, `document.querySelector(".typed .copy").textContent +
			", " + document.getElementById("status").textContent`)
	}
	testkit.Is(t, "Copied, copied", said(), "the page says")
	read := chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise)
	testkit.Is(t, want, pages.Get(t, b, read), "copied")
	pages.Eval[bool](t, b, `navigator.clipboard.writeText("other") && true`)
	pages.Eval[bool](t, b, `(document.getElementById("status").textContent = "",
		Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }), true)`)
	testkit.Is(t, "Copied, copied", said(), "without a clipboard the page says")
	pages.Eval[bool](t, b, `delete navigator.clipboard`)
	testkit.Is(t, want, pages.Get(t, b, read), "without a clipboard copied")
}
