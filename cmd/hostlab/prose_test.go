package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/testkit"
)

// What a person reads is plain: at most 25 words a sentence, and none of these words. They
// hide who acts, or stand for a term of the field.
var unplain = regexp.MustCompile(`(?i)\b(whoever|somebody|told|surely|all the same|of yours|in good order|(on|in) every way out|what nothing explains|it cannot be told)\b`)

const mostWords = 25

// misquoted is a command in a message that does not stand in single quotes, as all others do. Double quotes are for words
// that others wrote.
var misquoted = regexp.MustCompile("\\\\\"hostlab [a-z%]|`[^`]* \"hostlab [a-z%]|\"[^\"`]*`hostlab [a-z]")

// README is what a stranger reads first.
const readmeLines, readmeColumns = 140, 110

func TestProse(t *testing.T) {
	t.Run("documents", func(t *testing.T) {
		for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d files, %v", pattern, len(files), err)
			}
			for _, f := range files {
				b := testkit.Must(os.ReadFile(f))(t)
				readPlain(t, filepath.Base(f), markdownText(string(b)))
				if strings.Contains(f, "docs/") {
					narrow(t, filepath.Base(f), string(b))
				}
			}
		}
	})
	t.Run("README", func(t *testing.T) {
		b := testkit.Must(os.ReadFile("../../README.md"))(t)
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		if len(lines) > readmeLines {
			t.Errorf("%d lines, at most %d", len(lines), readmeLines)
		}
		for i, l := range lines {
			if n := utf8.RuneCountInString(l); n > readmeColumns {
				t.Errorf("line %d has %d columns, at most %d", i+1, n, readmeColumns)
			}
		}
	})
	t.Run("help", func(t *testing.T) {
		var walk func(c *cobra.Command)
		walk = func(c *cobra.Command) {
			readPlain(t, c.CommandPath()+" short", []string{c.Short})
			readPlain(t, c.CommandPath(), markdownText(strings.ReplaceAll(c.Long, "\n  ", "\n    ")))
			c.Flags().VisitAll(func(f *pflag.Flag) { readPlain(t, c.CommandPath()+" --"+f.Name, []string{f.Usage}) })
			for _, sub := range c.Commands() {
				walk(sub)
			}
		}
		walk(newRoot(streams{}))
	})
	t.Run("sources", func(t *testing.T) {
		testkit.OK(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "dl" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(b), "\n") {
				testkit.Is(t, "", unplain.FindString(prose(line)), path, i+1)
				testkit.Is(t, "", misquoted.FindString(line), path, i+1)
			}
			return nil
		}))
	})
}

// narrow reports lines of a page that are too wide for an editor.
func narrow(t *testing.T, name, text string) {
	t.Helper()
	for i, l := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(l); n > 120 {
			t.Errorf("%s:%d: %d columns", name, i+1, n)
		}
	}
}

// prose is what of a line of Go a person reads: its comment and its strings.
func prose(line string) string {
	if i := strings.Index(line, "//"); i >= 0 {
		return line[i:]
	}
	var out []string
	for i, s := range strings.FieldsFunc(line, func(r rune) bool { return r == '"' || r == '`' }) {
		if i%2 == 1 {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// readPlain reports sentences that are too long, and words of unplain.
func readPlain(t *testing.T, name string, paragraphs []string) {
	t.Helper()
	for _, p := range paragraphs {
		testkit.Is(t, "", unplain.FindString(p), name, p)
		for _, s := range sentences(p) {
			if n := len(strings.Fields(s)); n > mostWords {
				t.Errorf("%s: %d words: %s", name, n, s)
			}
		}
	}
}

var (
	sentenceEnd = regexp.MustCompile(`[.:;?!]["')\]]*\s+`)
	codeSpan    = regexp.MustCompile("`[^`]*`")
	link        = regexp.MustCompile(`\]\([^)]*\)`)
)

// sentences splits at full stops, and at colons and semicolons, which end a thought too.
// A code span counts as one word.
func sentences(p string) []string {
	p = link.ReplaceAllString(codeSpan.ReplaceAllString(p, "code"), "]")
	return sentenceEnd.Split(p, -1)
}

// markdownText holds the paragraphs and points of a text, without code, tables, headings
// and pictures.
func markdownText(s string) []string {
	var out []string
	fence := false
	text := ""
	flush := func() {
		if text != "" {
			out = append(out, text)
		}
		text = ""
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(line, "```") {
			fence = !fence
			line = ""
		}
		switch trimmed := strings.TrimSpace(line); {
		case fence || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "!["):
			flush()
		case trimmed == "":
			flush()
		case strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* "):
			flush()
			text = trimmed[2:]
		default:
			text = strings.TrimSpace(fmt.Sprintf("%s %s", text, trimmed))
		}
	}
	flush()
	return out
}
