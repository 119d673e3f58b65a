package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"hostlab/internal/report"
	"hostlab/internal/report/reporttest"
	"hostlab/internal/result"
)

// chromium finds the browser. A report that nobody has seen in one is not
// tested, so a missing browser fails.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Fatal("no Chromium on PATH nor in the environment variable CHROMIUM: run make test, which installs it")
	return ""
}

// start starts one browser with an empty profile.
func start(t *testing.T) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", false))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(stop)
	ctx, closeIt := chromedp.NewContext(ctx)
	t.Cleanup(closeIt)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return ctx
}

// tab is a page in the browser, and all that went wrong in it.
type tab struct {
	ctx      context.Context
	mu       sync.Mutex
	problems []string
}

func (b *tab) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// open renders an assessment into a file and shows it. Console messages,
// exceptions, policy violations and requests for anything else are problems.
func open(t *testing.T, browser context.Context, a *report.Assessment, fragment string, width int64) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(render(t, a)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx}
	url := "file://" + file
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			b.problem("console: %s", ev.Type)
		case *runtime.EventExceptionThrown:
			b.problem("exception: %v", ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.problem("log: %s", ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; u != url && !strings.HasPrefix(u, "blob:") {
				b.problem("request: %s", u)
			}
		case *page.EventJavascriptDialogOpening:
			b.problem("dialog: %s", ev.Message)
		}
	}); err != nil {
		t.Fatal(err)
	}
	send(t, b, network.Enable, network.EnableParams{})
	send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 700})
	b.run(t, chromedp.Navigate(url+fragment), chromedp.WaitReady(chromedp.CSS("#data")))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	return b
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 90*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval runs an expression in the page and decodes its value.
func eval[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	return get(t, b, chromedp.Evaluate[T](expression))
}

// get runs an action that has a value.
func get[T any](t *testing.T, b *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 90*time.Second)
	defer cancel()
	out, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// send calls a command of the protocol.
func send[P, R any](t *testing.T, b *tab, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// look returns a screenshot of the whole page, and keeps it where the
// environment variable HOSTLAB_SHOTS says, for people.
func look(t *testing.T, b *tab, name string) []byte {
	t.Helper()
	shot := get(t, b, chromedp.FullScreenshot(100))
	if dir := os.Getenv("HOSTLAB_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return shot
}

// brightness is the mean luma of a picture in [0, 1] and how many colours it has.
func brightness(t *testing.T, shot []byte) (mean float64, colours int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	seen, n := map[uint32]bool{}, 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 3 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			mean += (0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)) / 65535
			seen[r>>8<<16|g>>8<<8|b>>8] = true
			n++
		}
	}
	return mean / float64(n), len(seen)
}

// lowContrast lists texts whose colour has a contrast under 4.5 (WCAG 2 AA)
// against the nearest opaque ground, large ones under 3.
const lowContrast = `(() => {
  const rgb = (s) => { const m = s.match(/[\d.]+/g).map(Number); return { c: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
  const lum = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = (e) => { for (; e; e = e.parentElement) { const b = rgb(getComputedStyle(e).backgroundColor); if (b.a === 1) return b.c; } return [255, 255, 255]; };
  for (const d of document.querySelectorAll("details")) d.open = true;
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode()); ) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest("script, style, title, desc, .quiet, noscript") || !e.getClientRects().length) continue;
    const s = getComputedStyle(e), svg = e.closest("svg");
    let under = ground(e);
    if (e.matches("text.cpu")) { // its thread's cell is the element drawn before it
      under = rgb(getComputedStyle(e.previousElementSibling).fill).c;
    }
    const r = ratio(rgb(svg ? s.fill : s.color).c, under);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 600);
    if (r < (large ? 3 : 4.5)) bad.add(r.toFixed(2) + " " + (e.getAttribute("class") || e.tagName) + ": " + n.data.trim().slice(0, 30));
  }
  for (const d of document.querySelectorAll("details")) d.open = false;
  return [...bad].slice(0, 12);
})()`

// overflowing lists what sticks out of a page that must not scroll sideways.
const overflowing = `(() => {
  const w = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= w) return [];
  const out = ["page is " + document.documentElement.scrollWidth + " wide in " + w];
  for (const e of document.querySelectorAll("body *")) {
    if (e.getBoundingClientRect().right > w + 1 && !e.closest(".scroll, .canvas, .quiet")) out.push(e.tagName + "." + e.getAttribute("class"));
  }
  return out.slice(0, 8);
})()`

// TestInBrowser looks at each sample in both themes, on a desk and on a phone.
func TestInBrowser(t *testing.T) {
	chrome := start(t)
	for _, name := range []string{"guest", "big", "hostile", "empty"} {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, theme, width), func(t *testing.T) {
					b := open(t, chrome, samples[name](), "#theme="+theme, width)
					if bad := eval[[]string](t, b, overflowing); len(bad) > 0 {
						t.Errorf("sideways scrolling: %s", strings.Join(bad, "; "))
					}
					if bad := eval[[]string](t, b, lowContrast); len(bad) > 0 {
						t.Errorf("low contrast:\n%s", strings.Join(bad, "\n"))
					}
					if bad := eval[[]string](t, b, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`); len(bad) > 0 {
						t.Errorf("ids that are not unique: %v", bad)
					}
					if bad := eval[[]string](t, b, `[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`); len(bad) > 0 {
						t.Errorf("tables without a caption or a scope: %v", bad)
					}
					if flat := eval[[]string](t, b, `[...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`); len(flat) > 0 {
						t.Errorf("pictures of no size: %v", flat)
					}
					mean, colours := brightness(t, look(t, b, fmt.Sprintf("%s-%s-%d", name, theme, width)))
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

// rowsOf lists the first cells of a table's rows.
const rowsOf = `[...document.querySelectorAll("table.%s tbody tr")].map((r) => r.cells[0].textContent.trim())`

func TestSortingInBrowser(t *testing.T) {
	b := open(t, start(t), reporttest.Guest(), "", 1280)
	levers := func() []string { return eval[[]string](t, b, fmt.Sprintf(rowsOf, "levers")) }
	most := `document.querySelector("table.levers thead th:nth-child(2)")`
	sorted := func() string { return eval[string](t, b, most+`.getAttribute("aria-sort") || ""`) }
	before := levers()
	if s := sorted(); s != "" {
		t.Fatalf("sorted %s at first", s)
	}
	b.run(t, chromedp.Click(chromedp.CSS("table.levers thead th:nth-child(2) button")))
	up := levers()
	if s := sorted(); s != "ascending" {
		t.Errorf("aria-sort %q after a click", s)
	}
	if last := up[len(up)-1]; last != "Log device" {
		t.Errorf("the largest bound belongs to %s, want Log device", last)
	}
	if cmp.Equal(before, up) {
		t.Error("a click did not sort")
	}
	// By keyboard: focus the heading's button and press Enter.
	b.run(t, chromedp.Focus(chromedp.CSS("table.levers thead th:nth-child(2) button")), chromedp.KeyEvent(kb.Enter))
	if s := sorted(); s != "descending" {
		t.Errorf("aria-sort %q after Enter", s)
	}
	if down := levers(); down[0] != "Log device" {
		t.Errorf("descending starts with %s, want Log device", down[0])
	}
	if said := eval[string](t, b, `document.getElementById("status").textContent`); !strings.Contains(said, "descending") {
		t.Errorf("a screen reader hears %q", said)
	}
	// Every sortable heading can be reached and named.
	if n := eval[int](t, b, `[...document.querySelectorAll("table.sortable thead button")].filter((x) => x.tabIndex !== 0 || !x.textContent.trim()).length`); n != 0 {
		t.Errorf("%d headings cannot be reached or have no name", n)
	}
	// Text sorts with its numbers: 10 ms before 100 ms.
	b.run(t, chromedp.Click(chromedp.CSS(".probe table.sortable thead th:nth-child(1) button")))
	first := eval[[]string](t, b, `[...document.querySelector(".probe table").tBodies[0].rows].map((r) => r.cells[0].textContent.trim()).filter((s) => /^\d+ ms of/.test(s))`)
	if !strings.HasPrefix(first[0], "10 ms") || !strings.HasPrefix(first[len(first)-1], "100 ms") {
		t.Errorf("sorted by text: %q ... %q", first[0], first[len(first)-1])
	}
	// By value, not by text: 72 ns before 1.01x. An unknown one stays last in both
	// directions.
	for _, first := range []string{result.Format(72e-9, "s"), "1.01x"} {
		b.run(t, chromedp.Click(chromedp.CSS("article:nth-of-type(2) table.sortable thead th:nth-child(2) button")))
		values := eval[[]string](t, b, `[...document.querySelectorAll("article:nth-of-type(2) table")][0].innerText.split("\n").filter((l) => /\tunknown\t|\t\d/.test(l))`)
		if len(values) < 3 || !strings.Contains(values[1], first) || !strings.Contains(values[len(values)-1], "unknown") {
			t.Errorf("want %s first and an unknown value last: %q", first, values)
		}
	}
}

func TestThemeInBrowser(t *testing.T) {
	b := open(t, start(t), reporttest.Guest(), "", 1280)
	ground := func() string { return eval[string](t, b, `getComputedStyle(document.body).backgroundColor`) }
	prefer := func(v string) {
		send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v}}})
	}
	prefer("light")
	light := ground()
	prefer("dark")
	dark := ground()
	if light == dark {
		t.Error("the page ignores the system's theme")
	}
	b.run(t, chromedp.Click(chromedp.CSS("#theme")))
	if got := ground(); got != light {
		t.Errorf("the button gives %s, want the light ground %s", got, light)
	}
	if kept := eval[int](t, b, `(() => { try { return localStorage.length + sessionStorage.length + document.cookie.length; } catch { return 0; } })()`); kept != 0 {
		t.Error("the page stores something")
	}
	b.run(t, chromedp.Evaluate[chromedp.Void](`new Promise((done) => { addEventListener("hashchange", done, { once: true }); location.hash = "#theme=dark"; })`, chromedp.EvalAwaitPromise))
	if got := ground(); got != dark {
		t.Errorf("the fragment gives %s, want the dark ground %s", got, dark)
	}
}

// The download is the document that --json writes, facts of a large host unpacked.
func TestDownloadInBrowser(t *testing.T) {
	a := reporttest.Big()
	b := open(t, start(t), a, "", 1280)
	dir := t.TempDir()
	done := make(chan struct{}, 8)
	if err := chromedp.ListenBrowser(b.ctx, func(ev any) {
		if p, ok := ev.(*browser.EventDownloadProgress); ok && p.State == browser.DownloadProgressStateCompleted {
			done <- struct{}{}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	b.run(t, chromedp.Click(chromedp.CSS("#download")))
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		t.Fatal("no download within a minute")
	}
	saved, err := os.ReadFile(filepath.Join(dir, "hostlab-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(saved) {
		t.Fatal("the download is not JSON")
	}
	if diff := cmp.Diff(document(t, writeJSON(t, a)), document(t, saved)); diff != "" {
		t.Error(diff)
	}
}

// On paper the levers and findings stand with their reasons, dark ink on white.
func TestPrintInBrowser(t *testing.T) {
	b := open(t, start(t), reporttest.Guest(), "#theme=dark", 1280)
	send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if got := eval[string](t, b, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`); got != "rgb(255, 255, 255)rgb(0, 0, 0)" {
		t.Errorf("paper is %s", got)
	}
	// A4 less 1 cm on each side is 718 CSS pixels; paper does not scroll.
	send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 718, Height: 1000, DeviceScaleFactor: 1})
	b.run(t, chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("beforeprint"))`))
	if wide := eval[int](t, b, `Math.max(...[...document.querySelectorAll("main *:not(.quiet)")].map((e) => e.getBoundingClientRect().right))`); wide > 718 {
		t.Errorf("the print is %d wide on 718", wide)
	}
	if shut := eval[int](t, b, `document.querySelectorAll("td details:not([open])").length`); shut > 0 {
		t.Errorf("%d reasons are shut on paper", shut)
	}
	look(t, b, "guest-print")
	pdf := get(t, b, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	if dir := os.Getenv("HOSTLAB_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "guest.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
