package testkit

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that tests compare with, where they differ")

// Update reports whether the tests are to write their files.
func Update() bool { return *update }

// Equal requires that got is what the file holds, or writes it with -update.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	Write(t, file, got)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run the test with -update (-file +now):\n%s", file, diff)
	}
}

// Page is Equal for a page of Markdown, whose paragraphs and items of lists are broken at 118 columns.
func Page(t testing.TB, file, text string) {
	t.Helper()
	var out []string
	open := false // the last line may go on
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		whole := line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ")
		if open && !whole && !strings.HasPrefix(line, "- ") {
			out[len(out)-1] += " " + strings.TrimSpace(line)
			continue
		}
		out, open = append(out, line), !whole
	}
	var b strings.Builder
	for _, line := range out {
		column, next := 0, "\n"
		if strings.HasPrefix(line, "- ") {
			next += "  "
		}
		for i, word := range strings.Split(line, " ") {
			switch {
			case i == 0:
			case column+len(word) < 118 || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    "):
				b.WriteString(" ")
			default:
				b.WriteString(next)
				column = len(next) - 2
			}
			b.WriteString(word)
			column += 1 + len(word)
		}
		b.WriteString("\n")
	}
	Equal(t, file, b.String())
}

// Write writes the file with -update, and does nothing without.
func Write(t testing.TB, file, got string) {
	t.Helper()
	if !*update {
		return
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // the tree is for everyone
		t.Fatal(err)
	}
}
