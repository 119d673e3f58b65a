package main

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Every command's help fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	const width = 80
	seen := 0
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		var out, errs bytes.Buffer
		if status := run(t.Context(), append(path, "--help"), streams{in: &bytes.Buffer{}, out: &out, err: &errs}); status != 0 || errs.Len() > 0 {
			t.Errorf("%q --help: exit status %d, %s", path, status, &errs)
		}
		seen++
		for line := range bytes.Lines(out.Bytes()) {
			if line = bytes.TrimRight(line, "\n"); utf8.RuneCount(line) > width {
				t.Errorf("%q --help: %d columns: %s", path, utf8.RuneCount(line), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.DisableFlagParsing { // it names another command
				continue
			}
			walk(append(path[:len(path):len(path)], sub.Name()), sub)
		}
	}
	walk(nil, newRoot(streams{in: &bytes.Buffer{}, out: &bytes.Buffer{}, err: &bytes.Buffer{}}))
	if seen < 20 {
		t.Errorf("only %d commands have a help", seen)
	}
}
