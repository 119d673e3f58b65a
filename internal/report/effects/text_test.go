package effects_test

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hostlab/internal/analysis"
	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
)

var (
	sgr      = regexp.MustCompile("\x1b\\[[0-9;]*m")
	trailing = regexp.MustCompile(` +\n`)
)

func text(t *testing.T, name string, opt effects.Options) string {
	t.Helper()
	return string(written(t, samples[name](), func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, opt) }))
}

// The text fits, holds no control characters, and says the same without colour.
func TestTextFits(t *testing.T) {
	for name := range samples {
		coloured := text(t, name, effects.Options{Color: true})
		for _, width := range []int{0, 40, 132} {
			plain := text(t, name, effects.Options{Width: width})
			if width == 0 && (trailing.ReplaceAllString(sgr.ReplaceAllString(coloured, ""), "\n") != plain || coloured == plain) {
				t.Errorf("%s at %d: colour changes the text, or there is none", name, width)
			}
			most := width
			if width == 0 {
				most = 80
			}
			for _, line := range strings.Split(plain, "\n") {
				if n := utf8.RuneCountInString(line); n > most && !strings.HasPrefix(line, "  hostlab ") { // a command stays in one line
					t.Errorf("%s at %d: %d columns: %s", name, width, n, line)
				}
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
					t.Errorf("%s: control character in %q", name, line)
				}
			}
		}
	}
}

// TestTextGolden holds what people read; -update writes it anew.
func TestTextGolden(t *testing.T) {
	for _, name := range []string{"gzip", "live", "harmed", "adjusted", "null", "noisy", "running", "failing", "stalls", "power", "splitplot", "empty", "compared", "query", "dialog", "degree", "newer", "smt-harm", "smt-none", "smt-noisy", "smt-untestable", "smt-one-core", "smt-empty", "smt-alike"} {
		testkit.Equal(t, filepath.Join("testdata", name+".txt"), text(t, name, effects.Options{}))
	}
}

func TestOutcome(t *testing.T) {
	for name, want := range map[string]analysis.Outcome{"gzip": analysis.Beyond, "null": analysis.NoneBeyond, "noisy": analysis.Open, "running": analysis.Open,
		"power": analysis.Beyond, "splitplot": analysis.Beyond, "live": analysis.Beyond, "harmed": analysis.Open, "empty": analysis.Open, "compared": analysis.Beyond} {
		testkit.Is(t, want, samples[name]().Outcome(), name)
	}
	both := samples["null"]()
	both.Reports = append(both.Reports, samples["noisy"]().Reports...)
	testkit.Is(t, analysis.Open, both.Outcome(), "none and open")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrorsAreReturned(t *testing.T) {
	s := samples["gzip"]()
	for name, write := range formats() {
		testkit.Fails(t, write(failing{}, s), "", name, "no error")
	}
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// The page holds everything itself, escapes what others wrote, and has no number
// that is none in a picture.
func TestHTMLIsSelfContained(t *testing.T) {
	for name, make := range samples {
		t.Run(name, func(t *testing.T) {
			whole := string(written(t, make(), effects.WriteHTML))
			page := dataElement.ReplaceAllString(whole, "")
			for _, m := range regexp.MustCompile(`<[a-z]+\s[^>]*\b(?:src|href|srcset|action|data|poster)="([^"]*)"[^>]*>`).FindAllStringSubmatch(page, -1) {
				if !strings.HasPrefix(m[1], "#") {
					t.Errorf("refers to %s", m[0])
				}
			}
			for _, bad := range []string{"@import", "url(", "ZgotmplZ", "NaN", "+Inf", "-Inf", " style=", "<script>alert", "<img src=x", "%!"} {
				if i := strings.Index(page, bad); i >= 0 {
					t.Errorf("%s in the page: %s", bad, page[max(0, i-80):i+20])
				}
			}
			testkit.Is(t, 2, strings.Count(whole, "<script"), "script elements")
			if len(whole) > 450_000 {
				t.Errorf("%d bytes", len(whole))
			}
		})
	}
}

// Tables in Markdown have as many cells in each row, whatever the names hold.
func TestMarkdownTables(t *testing.T) {
	for name, make := range samples {
		columns := 0
		for _, line := range strings.Split(string(written(t, make(), effects.WriteMarkdown)), "\n") {
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns == 0 {
				columns = n
			}
			testkit.Is(t, columns, n, name, "columns", line)
		}
	}
	for line := range bytes.Lines(written(t, samples["hostile"](), effects.WriteMarkdown)) {
		if bytes.Contains(line, []byte("<script>")) && !bytes.HasPrefix(line, []byte("    ")) { // code needs no escapes
			t.Errorf("markup from names is not escaped: %s", line)
		}
	}
}
