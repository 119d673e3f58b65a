package main

import (
	"fmt"
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

// mostWords is of a sentence that a person reads.
const mostWords = 25

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

// readPlain reports sentences that are too long.
func readPlain(t *testing.T, name string, paragraphs []string) {
	t.Helper()
	for _, p := range paragraphs {
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
