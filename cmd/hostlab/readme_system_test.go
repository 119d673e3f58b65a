//go:build system

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The README's one example runs as it stands there: its file, and its lines in their order.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## One experiment\n")
	_, rest, _ := strings.Cut(section, "```toml\n")
	study, lines, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no study")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("gzip.toml", []byte(study), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(lines) {
		line, is := strings.CutPrefix(line, "    ")
		if !is && n > 0 && strings.TrimSpace(line) != "" {
			break
		} else if !is {
			continue
		}
		n++
		line, _, _ = strings.Cut(line, "#")
		args := strings.Fields(line)
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
	if _, err := os.Stat("gz.html"); err != nil || n != 3 {
		t.Errorf("%d lines, %v", n, err)
	}
}
