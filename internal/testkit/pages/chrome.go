//go:build system

package pages

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"hostlab/internal/testkit"
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

// Start gives a test a browser with an empty profile: a context of its own in the one that scripts/with-chromium.sh has
// started for all packages, where HOSTLAB_CHROMIUM says so, and else a Chromium of its own.
func Start(t *testing.T) context.Context {
	t.Helper()
	url := os.Getenv("HOSTLAB_CHROMIUM")
	var ctx context.Context
	var stop func()
	if url != "" {
		ctx, stop = remote.NewAllocator(t.Context(), url)
	} else {
		ctx, stop = chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
			chromedp.UserDataDir(t.TempDir()),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", false))...)
	}
	t.Cleanup(stop)
	ctx, closeIt := chromedp.NewContext(ctx)
	t.Cleanup(closeIt)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	if url != "" {
		ctx, closeIt = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
		t.Cleanup(closeIt)
	}
	return ctx
}

// Tab is a page in the browser, and all that went wrong in it.
type Tab struct {
	Ctx      context.Context
	mu       sync.Mutex
	problems []string
}

func (b *Tab) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// Open shows a page that is kept in a file. Console messages, exceptions, policy
// violations and requests for anything else fail the test when it ends.
func Open(t *testing.T, browser context.Context, html, fragment string, width int64) *Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "file://" + file
	return visit(t, browser, url+fragment, width, "#data", func(u string) bool {
		return u == url || strings.HasPrefix(u, "blob:")
	})
}

// Visit shows a page of a server. Requests for anything but the server fail the test when it ends, and so does all
// that fails Open's.
func Visit(t *testing.T, browser context.Context, server, path string, width int64) *Tab {
	t.Helper()
	return visit(t, browser, server+path, width, "#status", func(u string) bool {
		return strings.HasPrefix(u, server+"/")
	})
}

func visit(t *testing.T, browser context.Context, address string, width int64, ready string,
	may func(url string) bool) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &Tab{Ctx: ctx}
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			b.problem("console: %s", ev.Type)
		case *runtime.EventExceptionThrown:
			b.problem("exception: %v", ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.problem("log: %s", ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !may(u) {
				b.problem("request: %s", u)
			}
		case *page.EventJavascriptDialogOpening:
			b.problem("dialog: %s", ev.Message)
		}
	}); err != nil {
		t.Fatal(err)
	}
	Send(t, b, network.Enable, network.EnableParams{})
	Resize(t, b, width)
	b.Run(t, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS(ready)))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	return b
}

// Resize makes a page as wide as a desk's or a phone's screen.
func Resize(t *testing.T, b *Tab, width int64) {
	t.Helper()
	Send(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800,
		DeviceScaleFactor: 1, Mobile: width < 700})
}

// Run runs actions, which must work.
func (b *Tab) Run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithDeadline(b.Ctx, testkit.End(t))
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Eval runs an expression in the page and decodes its value.
func Eval[T any](t *testing.T, b *Tab, expression string) T {
	t.Helper()
	return Get(t, b, chromedp.Evaluate[T](expression))
}

// Get runs an action that has a value.
func Get[T any](t *testing.T, b *Tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithDeadline(b.Ctx, testkit.End(t))
	defer cancel()
	out, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Send calls a command of the protocol.
func Send[P, R any](t *testing.T, b *Tab, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(b.Ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// Look returns a screenshot of what the window shows. Where the environment variable HOSTLAB_SHOTS names a directory,
// it is of the whole page and is kept there, for people.
func Look(t *testing.T, b *Tab, name string) []byte {
	t.Helper()
	dir := os.Getenv("HOSTLAB_SHOTS")
	if dir == "" {
		return Get(t, b, chromedp.CaptureScreenshot())
	}
	shot := Get(t, b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644); err != nil {
		t.Fatal(err)
	}
	return shot
}

// Brightness is the mean luma of a picture in [0, 1] and how many colours it has.
func Brightness(t *testing.T, shot []byte) (mean float64, colours int) {
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
