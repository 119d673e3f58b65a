//go:build system

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The examples of README and of the page on experiments run as they stand there, their lines in their order.
func TestExamples(t *testing.T) {
	readme, page := lines(t, "../../README.md", "## One experiment\n"), lines(t, "../../docs/experiments.md", "# Experiments\n")
	if len(readme) != 3 || len(page) < 4 {
		t.Fatalf("README has %q, the page %q", readme, page)
	}
	for _, list := range [][]string{readme, append([]string{readme[0]}, page...)} {
		t.Chdir(t.TempDir())
		for _, line := range list {
			args, err := asTyped(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if args[0] != "hostlab" {
				if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", line, err, out)
				}
				continue
			}
			var out, errs bytes.Buffer
			status := run(t.Context(), args[1:], streams{strings.NewReader(""), &out, &errs})
			if status != 0 || strings.Contains(errs.String(), "failed") {
				t.Fatalf("%s: status %d: %s%s", line, status, &out, &errs)
			}
		}
		if _, err := os.Stat("gz.html"); err != nil {
			t.Error(err)
		}
	}
}

// lines are those of the first block of commands in a section.
func lines(t *testing.T, file, section string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), section)
	for line := range strings.Lines(rest) {
		line, is := strings.CutPrefix(line, "    ")
		switch {
		case is:
			list = append(list, strings.TrimSpace(line))
		case len(list) > 0:
			return list
		}
	}
	return list
}
