package effects_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hostlab/internal/analysis"
	docs "hostlab/internal/document"
	"hostlab/internal/report/effects"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

func set(reports ...effects.Report) *effects.Set {
	return &effects.Set{Reports: reports, Version: "v0.2.0"}
}

// samples are sets to report on, by name.
var samples = map[string]func() *effects.Set{
	"gzip":           func() *effects.Set { return set(pages.Gzip()) },
	"null":           func() *effects.Set { return set(pages.Null()) },
	"adjusted":       func() *effects.Set { return set(pages.Adjusted()) },
	"live":           func() *effects.Set { return set(pages.Live()) },
	"harmed":         func() *effects.Set { return set(pages.Harmed()) },
	"noisy":          func() *effects.Set { return set(pages.Noisy()) },
	"running":        func() *effects.Set { return set(pages.Running()) },
	"failing":        func() *effects.Set { return set(pages.Failing()) },
	"stalls":         func() *effects.Set { return set(pages.Stalls()) },
	"power":          func() *effects.Set { return set(pages.Power()) },
	"splitplot":      func() *effects.Set { return set(pages.SplitPlot()) },
	"query":          func() *effects.Set { return set(pages.Query()) },
	"dialog":         func() *effects.Set { return set(pages.Dialog()) },
	"degree":         func() *effects.Set { return set(pages.Degree()) },
	"newer":          func() *effects.Set { return set(pages.Newer()) },
	"smt-harm":       func() *effects.Set { return set(pages.SMTHarm()) },
	"smt-none":       func() *effects.Set { return set(pages.SMTNone()) },
	"smt-noisy":      func() *effects.Set { return set(pages.SMTNoisy()) },
	"smt-untestable": func() *effects.Set { return set(pages.SMTUntestable()) },
	"smt-one-core":   func() *effects.Set { return set(pages.SMTOneCore()) },
	"smt-alike":      func() *effects.Set { return set(pages.SMTAlike()) },
	"smt-empty":      func() *effects.Set { return set(pages.SMTEmpty()) },
	"paused":         func() *effects.Set { return set(pages.Paused()) },
	"empty":          func() *effects.Set { return set(pages.Empty()) },
	"hostile":        func() *effects.Set { return set(pages.Hostile()) },
	"large":          func() *effects.Set { return set(pages.Large(9000)) },
	"compared": func() *effects.Set {
		s := set(pages.Gzip(), pages.Others())
		return s
	},
}

// texts are the formats for people.
var texts = map[string]func(io.Writer, *effects.Set) error{"html": effects.WriteHTML, "markdown": effects.WriteMarkdown,
	"text": func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }}

// formats are all of them.
func formats() map[string]func(io.Writer, *effects.Set) error {
	out := maps.Clone(texts)
	out["json"] = effects.WriteJSON
	for _, f := range effects.Formats {
		out[f.Name] = f.Write
	}
	return out
}

// TestHostileTextStaysText puts names that steer a terminal, or that a spreadsheet computes,
// wherever others choose the text of a record.
func TestHostileTextStaysText(t *testing.T) {
	for _, name := range append([]string{"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1"}, testkit.Hostile...) {
		r := pages.Others()
		x := r.Analysis.Experiment
		x.Name, x.Title, x.Workload, x.File = name, name, name, name
		x.Host["hostname"], x.Host["cpu"] = name, name
		r.Dir, r.Warnings, r.Study = name, []string{name}, []byte(name)
		for i := range r.Runs {
			r.Runs[i].Reason, r.Runs[i].Contaminated = name, "-1.5"
		}
		for format, write := range formats() {
			out := written(t, set(r), write)
			text := strings.ReplaceAll(string(out), "\r\n", "\n")
			if format != "json" && strings.ContainsFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
			}) {
				t.Errorf("%s: %q is not clean", format, name)
			}
			if format == "json" && bytes.ContainsAny(out, "\x1b\x07") {
				t.Errorf("json: %q is raw", name)
			}
			if format != "csv" {
				continue
			}
			rows := testkit.Must(csv.NewReader(bytes.NewReader(out)).ReadAll())(t)
			numbers := 0
			for _, row := range rows {
				for _, cell := range row {
					if cell == "-1.5" {
						numbers++
						continue
					}
					if first := strings.TrimSpace(cell); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
						if _, err := strconv.ParseFloat(cell, 64); err != nil {
							t.Fatalf("csv: a formula: %q", cell)
						}
					}
				}
			}
			if numbers == 0 {
				t.Error("csv: -1.5 is no number any more")
			}
		}
	}
}

func written(t testing.TB, s *effects.Set, write func(io.Writer, *effects.Set) error) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, write(&b, s))
	return b.Bytes()
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

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
			testkit.Fits(t, plain, cmp.Or(width, 80), func(line string) bool { return strings.HasPrefix(line, "  hostlab ") }, name)
		}
	}
}

// TestTextGolden holds what people read; -update writes it anew.
func TestTextGolden(t *testing.T) {
	for _, name := range []string{"gzip", "live", "harmed", "adjusted", "null", "noisy", "running", "failing", "stalls", "power", "splitplot", "empty", "compared", "query", "dialog", "degree", "newer", "smt-harm", "smt-none", "smt-noisy", "smt-untestable", "smt-one-core", "smt-empty", "smt-alike"} {
		testkit.Equal(t, filepath.Join("testdata", name+".txt"), text(t, name, effects.Options{}))
	}
}

// TestOneScreen: without --all a report has at most 40 lines of 80 columns, its answer first and last, and a command for the rest.
func TestOneScreen(t *testing.T) {
	for name, sample := range samples {
		set := sample()
		brief := string(written(t, set, func(w io.Writer, s *effects.Set) error {
			return docs.WriteText(w, s.Brief(), docs.TextOptions{Rows: docs.Rows})
		}))
		rows := docs.Folded(brief, docs.ScreenColumns)
		if rows > docs.ScreenLines && name != "hostile" { // whose names alone take a screen
			t.Errorf("%s: %d rows:\n%s", name, rows, brief)
		}
		answer, _, _ := strings.Cut(brief, "\n\n")
		if long := text(t, name, effects.Options{}); len(brief) < len(long) && (!strings.Contains(strings.Join(strings.Fields(brief), " "), " --all") ||
			rows > docs.Rows && !strings.HasSuffix(brief, answer+"\n")) {
			t.Errorf("%s has no way to all, or no answer at its end:\n%s", name, brief)
		}
	}
	testkit.Equal(t, filepath.Join("testdata", "brief.txt"), string(written(t, samples["dialog"](), func(w io.Writer, s *effects.Set) error {
		return docs.WriteText(w, s.Brief(), docs.TextOptions{Rows: docs.Rows})
	})))
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

// The page holds everything itself, and escapes what others wrote.
func TestHTMLIsSelfContained(t *testing.T) {
	for name, make := range samples {
		t.Run(name, func(t *testing.T) {
			testkit.SelfContained(t, string(written(t, make(), effects.WriteHTML)), 450_000)
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
			columns = cmp.Or(columns, n)
			testkit.Is(t, columns, n, name, "columns", line)
		}
	}
	for line := range bytes.Lines(written(t, samples["hostile"](), effects.WriteMarkdown)) {
		if bytes.Contains(line, []byte("<script>")) && !bytes.HasPrefix(line, []byte("    ")) { // code needs no escapes
			t.Errorf("markup from names is not escaped: %s", line)
		}
	}
}
